# requests-oauthlib, with the settings of its documentation:
# https://requests-oauthlib.readthedocs.io/en/latest/oauth2_workflow.html
# Reads one command from each line of the input, and prints one line of JSON for each.
import json
import os
import sys

from oauthlib.oauth2 import BackendApplicationClient
from requests_oauthlib import OAuth2Session

# The library requires https otherwise.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

issuer, client_id, client_secret, port = (
    os.environ[name] for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "PORT")
)
token_endpoint = issuer + "/token"
scope = ["openid", "profile", "email", "offline_access"]
client = OAuth2Session(client_id, redirect_uri="http://localhost:" + port + "/cb", scope=scope)


def authorize(_):
    uri, _state = client.authorization_url(issuer + "/authorize")
    return {"uri": uri}


def redeem(address):
    return client.fetch_token(
        token_endpoint, authorization_response=address, client_secret=client_secret
    )


def refresh(_):
    return client.refresh_token(token_endpoint, client_id=client_id, client_secret=client_secret)


def userinfo(_):
    return client.get(issuer + "/userinfo").json()


def client_credentials(_):
    machine = OAuth2Session(client=BackendApplicationClient(client_id=client_id))
    return machine.fetch_token(
        token_url=token_endpoint, client_id=client_id, client_secret=client_secret
    )


print("listening", flush=True)
for line in sys.stdin:
    command, _, argument = line.strip().partition(" ")
    print(json.dumps(globals()[command](argument)), flush=True)
