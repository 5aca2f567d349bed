"""Signs one job of signing-mistakes.slow.test.ts per line, with Python's own JSON and URL encoding."""
import base64, hashlib, hmac, json, sys, urllib.parse


def plain(text):
    return text.replace("\\n", "\n").replace("\\r", "\r")


def pairs(text):
    return [tuple(pair.split("=", 1)) for pair in text.split("&")]


def part(spec):
    kind, text = spec[0], plain(spec[1:])
    if kind == "s":
        return "&".join(f"{key}={value}" for key, value in sorted(pairs(text)))
    if kind == "u":
        return urllib.parse.urlencode(pairs(text))
    if kind == "j":
        return json.dumps(dict(pairs(text)))
    if kind == "h":
        return hashlib.sha256(text.encode()).hexdigest()
    if kind == "H":
        return hashlib.sha256(json.dumps(dict(pairs(text))).encode()).hexdigest()
    return text


for line in sys.stdin.buffer:
    algorithm, encoding, key, *specs = line.decode().rstrip("\n").split("\t")
    text = "".join(map(part, specs)).encode()
    if algorithm == "hmac":
        digest = hmac.new(plain(key).encode(), text, hashlib.sha256).digest()
    else:
        digest = hashlib.new(algorithm, text).digest()
    if encoding == "hex":
        print(digest.hex())
    else:
        encode = base64.b64encode if encoding == "base64" else base64.urlsafe_b64encode
        print(encode(digest).decode())
