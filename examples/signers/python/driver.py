"""For the tests: reads jobs, one a line, and prints a signature, refused, valid or invalid."""
import sys

from gatehouse_signer import Signer, RefusedRequest, UnverifiedReply


def answer(fields):
    version, digest, client_id, key, method, path, query, content_type = (
        field.decode() for field in fields[:8])
    body, timestamp, nonce = fields[8], fields[9].decode(), fields[10].decode()
    signer = Signer(client_id, key, int(version), digest or "SHA-256")
    target = path + "?" + query if query else path
    try:
        request = signer.sign(method, target, body, content_type, timestamp, nonce)
    except RefusedRequest:
        return "refused"
    name = "X-Sign" if version == "1" else "X-Sign-V2"
    if len(fields) == 11:
        return request.headers[name]
    sent = {"X-Timestamp": fields[12], name: fields[13]}
    headers = {name: value.decode() for name, value in sent.items() if value is not None}
    try:
        request.verify(int(fields[11]), headers, fields[14])
    except UnverifiedReply:
        return "invalid"
    return "valid"


for line in sys.stdin:
    words = line.rstrip("\n").split("\t")
    print(answer([None if word == "-" else bytes.fromhex(word) for word in words]))
