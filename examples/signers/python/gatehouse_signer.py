"""Signs requests to Gatehouse and verifies its replies, as docs/signing.md specifies.

    signer = Signer("machine-1", secure_key)
    request = signer.sign("GET", "/api/device?pageSize=20")
    # Send the request with request.headers. Then:
    request.verify(reply.status, reply.headers, received_bytes)

Python 3.9 or later, without dependencies.
"""
import hashlib
import hmac
import json
import re
import secrets
import time

TOLERANCE_MILLISECONDS = 300_000
FORM = "application/x-www-form-urlencoded"


class RefusedRequest(ValueError):
    """The gateway would reject this request, so it gets no signature."""


class UnverifiedReply(ValueError):
    """The gateway did not sign this reply for this request."""


class Signer:
    def __init__(self, client_id, secure_key, version=2, digest="SHA-256", clock=None):
        """digest is that of version 1, SHA-256 or MD5. clock returns epoch milliseconds."""
        if version not in (1, 2) or digest not in ("SHA-256", "MD5"):
            raise ValueError("The version is 1 or 2. The digest is SHA-256 or MD5.")
        self.client_id, self.secure_key = client_id, secure_key
        self.version, self.digest = version, digest
        self.clock = clock or (lambda: time.time_ns() // 1_000_000)
        self.latest = 0

    def sign(self, method, target, body=b"", content_type="", timestamp=None, nonce=None):
        """target is the path and the query as sent, body the bytes as sent."""
        if timestamp is None:
            # Two equal requests in one millisecond would have the same signature in version 1.
            self.latest = min(max(self.clock(), self.latest + 1), self.clock() + 1000)
            timestamp = str(self.latest)
        if not re.fullmatch("[1-9][0-9]{12}", timestamp):
            raise RefusedRequest("The timestamp must be epoch milliseconds with 13 digits.")
        path, _, query = target.partition("?")
        headers = {"Content-Type": content_type} if content_type else {}
        headers.update({"X-Client-Id": self.client_id, "X-Timestamp": timestamp})
        if self.version == 1:
            text = _signed_text(method, query, body, content_type)
            headers["X-Sign"] = self._digest(text, timestamp)
            return SignedRequest(self, headers)
        nonce = nonce or secrets.token_urlsafe(18)
        if not re.fullmatch("[A-Za-z0-9_-]{16,64}", nonce):
            raise RefusedRequest("The nonce must be 16 to 64 characters of Base64url.")
        body_hash = hashlib.sha256(body).hexdigest()
        lines = ["GATEHOUSE-V2", method, path, query, content_type, body_hash,
                 self.client_id, timestamp, nonce]
        if any("\n" in line for line in lines):
            raise RefusedRequest("No part of a request may contain a line feed.")
        headers["X-Nonce"] = nonce
        headers["X-Sign-V2"] = self._hmac(lines)
        return SignedRequest(self, headers)

    def _digest(self, text, timestamp):
        name = "md5" if self.digest == "MD5" else "sha256"
        return hashlib.new(name, text + timestamp.encode() + self.secure_key.encode()).hexdigest()

    def _hmac(self, lines):
        key, text = self.secure_key.encode(), "\n".join(lines).encode()
        return hmac.new(key, text, hashlib.sha256).hexdigest()


class SignedRequest:
    def __init__(self, signer, headers):
        self.signer = signer
        #: Send these headers with the request, including Content-Type if there is one.
        self.headers = headers

    def verify(self, status, headers, body):
        """headers is a mapping that ignores case, or has the names as the gateway sends them."""
        signer, timestamp = self.signer, headers.get("X-Timestamp") or ""
        if signer.version == 2:
            nonce, body_hash = self.headers["X-Nonce"], hashlib.sha256(body).hexdigest()
            lines = ["GATEHOUSE-V2-REPLY", str(status), nonce, body_hash, timestamp]
            expected, presented = signer._hmac(lines), headers.get("X-Sign-V2")
        else:
            expected, presented = signer._digest(body, timestamp), headers.get("X-Sign")
        if not hmac.compare_digest(expected.encode(), (presented or "").lower().encode()):
            raise UnverifiedReply("The reply is not signed by the gateway.")
        if signer.version == 1 and not (self._is_timely(timestamp) and _is_envelope(status, body)):
            raise UnverifiedReply("The signature belongs to another message of this client.")

    def _is_timely(self, timestamp):
        return re.fullmatch("[1-9][0-9]{12}", timestamp) is not None and (
            abs(int(timestamp) - int(self.headers["X-Timestamp"])) <= TOLERANCE_MILLISECONDS)


def _signed_text(method, query, body, content_type):
    """What version 1 signs. It covers the query or the body, so the other one must be empty."""
    if method in ("GET", "HEAD", "DELETE", "OPTIONS") and not body:
        return _canonical(query.encode())
    if query or method not in ("POST", "PUT", "PATCH"):
        raise RefusedRequest("Version 1 signs a query or a body, by the method. Use version 2.")
    if body.startswith(b"\xef\xbb\xbf") or _text(body) is None:
        raise RefusedRequest("A signed body must be UTF-8 without a byte order mark.")
    is_form = content_type.split(";")[0].strip().lower() == FORM
    return _canonical(body) if is_form else body


def _canonical(query):
    values = {}
    for pair in filter(None, query.split(b"&")):
        key, _, value = pair.partition(b"=")
        key, value = _decode(key), _decode(value)
        if key == b"" or b"=" in key or b"&" in key + value:
            raise RefusedRequest("A key is empty, or a decoded parameter contains & or =.")
        values.setdefault(key, []).append(value)
    return b"&".join(key + b"=" + b",".join(values[key]) for key in sorted(values))


def _decode(text):
    text = text.replace(b"+", b" ")
    if re.search(b"%(?![0-9A-Fa-f]{2})", text):
        raise RefusedRequest("A percent sign must be followed by two hexadecimal digits.")
    decoded = re.sub(b"%(..)", lambda found: bytes.fromhex(found[1].decode()), text)
    characters = _text(decoded)
    if characters is None or re.search("[\x00-\x1f\x7f-\x9f]", characters):
        raise RefusedRequest("Parameters must be UTF-8 without control characters.")
    return decoded


def _text(utf8):
    try:
        return utf8.decode()
    except UnicodeDecodeError:
        return None


def _is_envelope(status, body):
    """Version 1 signs requests and replies alike. Only a reply is an envelope with this status."""
    try:
        value = json.loads(body, parse_constant=int)  # int rejects NaN and Infinity
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("status") == status and all(
        type(value.get(name)) in kinds  # a bool is an instance of int
        for name, kinds in (("code", [str]), ("message", [str]), ("timestamp", [int, float])))
