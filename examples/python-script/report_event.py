"""Reports an event of a device, and prints the newest events. It needs no package.

    python3 report_event.py demo-device-1 'door opened'
    python3 report_event.py demo-device-1 'door opened' --token
"""
import argparse
import base64
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

from gatehouse_signer import Signer, UnverifiedReply

AUTHORIZATION_SERVER_URL = os.environ.get("AUTHORIZATION_SERVER_URL", "http://localhost:9000")
GATEWAY_URL = os.environ.get("GATEWAY_URL", "http://localhost:8844")
CLIENT_ID = os.environ.get("CLIENT_ID", "python-script")
SECURE_KEY_FILE = os.environ.get("SECURE_KEY_FILE", "secure-key.txt")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """By default, urllib sends the token to every server that a redirect names."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirects)


def read_secure_key():
    with open(SECURE_KEY_FILE, encoding="utf-8") as file:
        if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
            sys.exit(f"Other users can read {SECURE_KEY_FILE}. Run: chmod 600 {SECURE_KEY_FILE}")
        return file.read().strip()


def send(method, url, headers, body):
    request = urllib.request.Request(url, body or None, headers, method=method)
    try:
        reply = opener.open(request, timeout=10)
    except urllib.error.HTTPError as error:
        reply = error
    with reply:
        return reply.status, reply.headers, reply.read()


def create_signed_call(secure_key):
    signer = Signer(CLIENT_ID, secure_key)

    def call(method, target, body=b""):
        request = signer.sign(method, target, body, "application/json" if body else "")
        status, headers, received = send(method, GATEWAY_URL + target, request.headers, body)
        request.verify(status, headers, received)
        return received

    return call


def create_token_call(secure_key):
    token = request_token(secure_key)

    def call(method, target, body=b""):
        headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
        return send(method, GATEWAY_URL + target, headers, body)[2]

    return call


def request_token(secure_key):
    # RFC 6749 §2.3.1 encodes both parts before they are joined.
    parts = [urllib.parse.quote(part, safe="") for part in (CLIENT_ID, secure_key)]
    headers = {"Authorization": "Basic " + base64.b64encode(":".join(parts).encode()).decode()}
    body = b"grant_type=client_credentials&scope=device:report device:log"
    reply = json.loads(send("POST", AUTHORIZATION_SERVER_URL + "/token", headers, body)[2])
    if "access_token" not in reply:
        sys.exit(f"Cannot get a token: {reply['error']}: {reply['error_description']}")
    return reply["access_token"]


def read_result(received):
    reply = json.loads(received)
    if reply["code"] != "success":
        sys.exit(f"The gateway rejected the call: {reply['code']}: {reply['message']}")
    return reply["result"]


def main():
    parser = argparse.ArgumentParser(description="Reports an event of a device.")
    parser.add_argument("device")
    parser.add_argument("text")
    parser.add_argument("--token", action="store_true", help="use an access token")
    arguments = parser.parse_args()
    create_call = create_token_call if arguments.token else create_signed_call
    call = create_call(read_secure_key())
    log = f"/api/v1/device/{urllib.parse.quote(arguments.device, safe='')}/log"
    event = {"type": "event", "content": arguments.text}
    try:
        read_result(call("POST", log, json.dumps(event).encode()))
        for record in read_result(call("GET", log + "/_query?pageSize=3")):
            print(record["type"]["value"], record["content"])
    except UnverifiedReply as error:
        sys.exit(f"Do not trust this reply: {error}")


main()
