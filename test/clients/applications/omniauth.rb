# GitLab's strategy, with the settings of its documentation:
# https://docs.gitlab.com/ee/administration/auth/oidc.html
require 'omniauth'
require 'omniauth_openid_connect'
require 'rack'
require 'rack/handler/webrick'

ISSUER, CLIENT_ID, CLIENT_SECRET, PORT = ENV.values_at('ISSUER', 'CLIENT_ID', 'CLIENT_SECRET', 'PORT')
# The library finds issuers with https only, unless it is told otherwise.
SWD.url_builder = URI::HTTP

application = lambda do |env|
  session = env['rack.session']
  case env['PATH_INFO']
  when '/login'
    # A page of the application, because OmniAuth starts a sign-in by POST only.
    token = Rack::Protection::AuthenticityToken.token(session, path: '/users/auth/openid_connect', method: :post)
    page = <<~HTML
      <form method="post" action="/users/auth/openid_connect">
      <input type="hidden" name="authenticity_token" value="#{token}"><button>Gatehouse</button></form>
    HTML
    [200, { 'Content-Type' => 'text/html' }, [page]]
  when '/users/auth/openid_connect/callback'
    user = env['omniauth.auth']
    session['user'] = { 'uid' => user.uid, 'name' => user.info.name, 'email' => user.info.email }
    [302, { 'Location' => '/' }, []]
  when '/logout'
    session.clear
    [302, { 'Location' => '/' }, []]
  else
    user = session['user']
    page = user.nil? ? '<p>Signed out.</p><a href="/login">Sign in</a>' : <<~HTML
      <p>Signed in as #{user['name']}, #{user['email']}.</p><a href="/logout">Sign out</a>
    HTML
    [200, { 'Content-Type' => 'text/html' }, [page]]
  end
end

OmniAuth.config.path_prefix = '/users/auth'

server = Rack::Builder.new do
  use Rack::Session::Cookie, secret: 'a secret of the application with 64 characters or more, for Rack.'
  use OmniAuth::Builder do
    provider :openid_connect,
             name: 'openid_connect',
             scope: %w[openid profile email],
             response_type: 'code',
             issuer: ISSUER,
             discovery: true,
             client_auth_method: 'query',
             uid_field: 'preferred_username',
             send_scope_to_token_endpoint: 'false',
             pkce: true,
             client_options: {
               identifier: CLIENT_ID,
               secret: CLIENT_SECRET,
               redirect_uri: "http://localhost:#{PORT}/users/auth/openid_connect/callback"
             }
  end
  run application
end

Rack::Handler::WEBrick.run(server, Host: 'localhost', Port: PORT) do
  puts 'listening'
  $stdout.flush
end
