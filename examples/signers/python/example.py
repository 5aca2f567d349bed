"""Lists devices, creates one and searches for it. Every reply is verified.

    GATEWAY_URL=… CLIENT_ID=… SECURE_KEY=… DEVICE_ID=… python3 example.py [version [digest]]
"""
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

from gatehouse_signer import Signer, UnverifiedReply



def setting(name):
    return os.environ.get(name) or sys.exit(f"Set {name}.")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """By default, urllib sends the signature to every server that a redirect names."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirects)
gateway, device_id = setting("GATEWAY_URL").rstrip("/"), setting("DEVICE_ID")
version = int(sys.argv[1]) if len(sys.argv) > 1 else 2
digest = sys.argv[2] if len(sys.argv) > 2 else "SHA-256"
signer = Signer(setting("CLIENT_ID"), setting("SECURE_KEY"), version, digest)


def call(method, target, value=None):
    body = b"" if value is None else json.dumps(value).encode()
    request = signer.sign(method, target, body, "application/json" if body else "")
    url, headers = gateway + target, request.headers
    outgoing = urllib.request.Request(url, body or None, headers, method=method)
    try:
        reply = opener.open(outgoing, timeout=10)
    except urllib.error.HTTPError as error:
        reply = error
    except OSError as error:
        sys.exit(f"No reply: {error}")
    received = reply.read()
    try:
        request.verify(reply.status, reply.headers, received)
    except UnverifiedReply as error:
        # The reply may name a mistake of this program. Print it, but do not act on it.
        raise SystemExit(f"{reply.status} {received.decode(errors='replace')}\n{error}")
    print(reply.status, received.decode())


call("GET", "/api/device?pageSize=20&pageIndex=0")
name = "Pump 张三 1+1"
call("POST", "/device-instance",
     {"id": device_id, "name": name, "productId": "p1", "productName": "P 1"})
query = urllib.parse.urlencode({"where": f'name like "%{name}%"', "pageSize": 20})
call("GET", "/device/instance/_query?" + query)
