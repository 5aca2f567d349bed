# Authlib's OAuth2Session, with the settings of its documentation:
# https://docs.authlib.org/en/latest/client/oauth2.html
# Reads one command from each line of the input, and prints one line of JSON for each.
import json
import os
import sys

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session

issuer, client_id, client_secret, port = (
    os.environ[name] for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "PORT")
)
token_endpoint = issuer + "/token"
redirect_uri = "http://localhost:" + port + "/cb"
verifier = generate_token(48)
client = OAuth2Session(
    client_id,
    client_secret,
    scope="openid profile email offline_access",
    redirect_uri=redirect_uri,
    code_challenge_method="S256",
)


def authorize(_):
    uri, _state = client.create_authorization_url(issuer + "/authorize", code_verifier=verifier)
    return {"uri": uri}


def redeem(address):
    return client.fetch_token(
        token_endpoint, authorization_response=address, code_verifier=verifier
    )


def refresh(_):
    return client.refresh_token(token_endpoint)


def refresh_with_scope(_):
    return client.refresh_token(token_endpoint, scope=client.scope)


def userinfo(_):
    return client.get(issuer + "/userinfo").json()


def client_credentials(_):
    machine = OAuth2Session(client_id, client_secret, scope="device:read")
    return machine.fetch_token(token_endpoint, grant_type="client_credentials")


print("listening", flush=True)
for line in sys.stdin:
    command, _, argument = line.strip().partition(" ")
    print(json.dumps(globals()[command](argument)), flush=True)
