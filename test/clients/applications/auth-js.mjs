import { ExpressAuth, getSession } from '@auth/express';
import express from 'express';
import { homePage } from './home-page.mjs';

const { CLIENT_ID, CLIENT_SECRET, ISSUER, PORT } = process.env;
const configuration = {
  secret: 'a secret of the application with 32 characters',
  providers: [
    {
      id: 'gatehouse',
      name: 'Gatehouse',
      type: 'oidc',
      issuer: ISSUER,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
    },
  ],
};

const app = express();
app.use('/auth', ExpressAuth(configuration));
app.get('/login', (_request, response) => response.redirect('/auth/signin'));
app.get('/logout', (_request, response) => response.redirect('/auth/signout'));
app.get('/', async (request, response) => {
  const session = await getSession(request, configuration);
  response.send(homePage(session?.user));
});
app.listen(PORT, () => process.stdout.write('listening\n'));
