import express from 'express';
import session from 'express-session';
import passport from 'passport';
import OpenIDConnectStrategy from 'passport-openidconnect';
import { homePage } from './home-page.mjs';

const { CLIENT_ID, CLIENT_SECRET, ISSUER, PORT } = process.env;

passport.use(
  new OpenIDConnectStrategy(
    {
      issuer: ISSUER,
      authorizationURL: `${ISSUER}/authorize`,
      tokenURL: `${ISSUER}/token`,
      userInfoURL: `${ISSUER}/userinfo`,
      clientID: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      callbackURL: `http://localhost:${PORT}/cb`,
      scope: ['profile', 'email'],
    },
    function verify(_issuer, profile, cb) {
      return cb(null, { name: profile.displayName, email: profile.emails?.[0]?.value });
    },
  ),
);
passport.serializeUser((user, cb) => cb(null, user));
passport.deserializeUser((user, cb) => cb(null, user));

const app = express();
app.use(session({ secret: 'a secret', resave: false, saveUninitialized: false }));
app.use(passport.authenticate('session'));
app.get('/login', passport.authenticate('openidconnect'));
app.get(
  '/cb',
  passport.authenticate('openidconnect', { failureRedirect: '/login', failureMessage: true }),
  (_request, response) => response.redirect('/'),
);
app.get('/logout', (request, response, next) => {
  request.logout((error) => (error ? next(error) : response.redirect('/')));
});
app.get('/', (request, response) => response.send(homePage(request.user)));
app.listen(PORT, () => process.stdout.write('listening\n'));
