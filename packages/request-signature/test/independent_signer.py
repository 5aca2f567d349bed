"""Signs requests as the specification defines, without code of this project.

Reads one JSON object per line: {"query": raw} or {"body": base64}, with digest, timestamp,
secureKey. Prints one line for each: the signature, or "ambiguous".
"""
import base64
import hashlib
import json
import re
import sys
import unicodedata


def decode(text):
    text = text.replace("+", " ")
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ValueError(text)
    out = bytearray()
    i = 0
    raw = text.encode("utf-8")
    while i < len(raw):
        if raw[i] == 0x25:
            out.append(int(raw[i + 1 : i + 3], 16))
            i += 3
        else:
            out.append(raw[i])
            i += 1
    return out.decode("utf-8")


def is_control(text):
    return any(unicodedata.category(c) == "Cc" for c in text)


def canonical(query):
    values = {}
    for pair in query.split("&"):
        if pair == "":
            continue
        key, _, value = pair.partition("=")
        key, value = decode(key), decode(value)
        if key == "" or "&" in key or "=" in key or "&" in value or is_control(key + value):
            raise ValueError(pair)
        values.setdefault(key.encode(), []).append(value.encode())
    return b"&".join(key + b"=" + b",".join(values[key]) for key in sorted(values))


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "query" in request:
                text = canonical(request["query"])
            else:
                text = base64.b64decode(request["body"])
        except (ValueError, UnicodeError):
            print("ambiguous")
            continue
        name = {"MD5": "md5", "SHA-256": "sha256"}[request["digest"]]
        signed = text + request["timestamp"].encode() + request["secureKey"].encode()
        print(hashlib.new(name, signed).hexdigest())


main()
