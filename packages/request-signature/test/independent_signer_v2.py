"""Signs with version 2 as docs/signing.md defines, without code of this project.

Reads one JSON object per line: a request (method, path, query, contentType, clientId) or a reply
(status), with body in base64, timestamp, nonce, secureKey. Prints one line for each: the signature.
"""
import base64
import hashlib
import hmac
import json
import sys


def lines_of(message):
    body_hash = hashlib.sha256(base64.b64decode(message["body"])).hexdigest()
    if "status" in message:
        return ["GATEHOUSE-V2-REPLY", str(message["status"]), message["nonce"], body_hash, message["timestamp"]]
    return [
        "GATEHOUSE-V2",
        message["method"],
        message["path"],
        message["query"],
        message["contentType"],
        body_hash,
        message["clientId"],
        message["timestamp"],
        message["nonce"],
    ]


def main():
    for line in sys.stdin:
        message = json.loads(line)
        text = "\n".join(lines_of(message)).encode()
        print(hmac.new(message["secureKey"].encode(), text, hashlib.sha256).hexdigest())


main()
