#!/usr/bin/env python3
"""Computes the test vectors anew, from the frozen texts alone and without this crate: keys, canonical bytes, hashes and
one signature. `make.py` writes the files beside itself; `make.py --check` compares. Needs Python 3 and openssl."""

import base64
import hashlib
import hmac
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def rfc8785(value):
    """Canonical text of a value without fractions: keys in the order of their UTF-16 code units, no spaces."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda k: k.encode("utf-16-be"))
        return "{" + ",".join(rfc8785(k) + ":" + rfc8785(value[k]) for k in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(rfc8785(v) for v in value) + "]"
    assert not isinstance(value, float)
    return json.dumps(value, ensure_ascii=False)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def key_array(key):
    names = ["environment", "destination", "effect", "source", "request_id", "step", "revision"]
    return ["v1"] + [key[name] for name in names]


def idempotency_key(secret, key):
    digest = bytearray(hmac.new(bytes.fromhex(secret), rfc8785(key_array(key)).encode(), hashlib.sha256).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x40
    digest[8] = digest[8] & 0x3F | 0x80
    h = digest.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def hashed(payload):
    """The payload as it is hashed: each attachment's bytes replaced by their digest and size."""
    payload = json.loads(json.dumps(payload))
    for file in payload.get("attachments") or []:
        data = base64.b64decode(file.pop("base64"))
        file["sha256"], file["size"] = sha256(data), len(data)
    return payload


def vector(about, secret, key, payload):
    covered = rfc8785(
        {"action_key": key_array(key), "destination": key["destination"], "payload": hashed(payload)}
    )
    return {
        "about": about,
        "ledger_secret": secret,
        "action_key": key,
        "action_key_canonical": rfc8785(key_array(key)),
        "idempotency_key": idempotency_key(secret, key),
        "payload": payload,
        "payload_canonical": covered,
        "payload_hash": sha256(b"countersign/payload/v1\n" + covered.encode()),
    }


def key(effect, **other):
    base = {
        "environment": "live",
        "destination": "support-mailbox",
        "effect": effect,
        "source": "inbox-agent",
        "request_id": "inquiry-4417",
        "step": "first-reply",
        "revision": 1,
    }
    return base | other


def mail(**other):
    base = {
        "from": {"email": "support@shop.example"},
        "to": [{"name": "Robin Vale", "email": "robin@customer.example"}],
        "subject": "Re: Delivery slot",
        "text": "Of course: Thursday, 9 to 11.",
    }
    return base | other


PUBLISHED_SECRET = bytes(range(32)).hex()
OTHER_SECRET = sha256(b"another ledger")


def vectors():
    yield "01-published", vector(
        "The published vector: the reply of the interfaces' example, with its ledger secret.",
        PUBLISHED_SECRET,
        key("email.reply"),
        mail(
            cc=[],
            bcc=[],
            reply_to=[],
            html=None,
            in_reply_to="<m1@customer.example>",
            references=["<m1@customer.example>"],
            attachments=[
                {"filename": "slots.pdf", "content_type": "application/pdf", "base64": base64.b64encode(b"%PDF-1.7").decode()}
            ],
        ),
    )
    yield "02-nothing-filled-in", vector(
        "Absent members stay absent: the same mail as 03 and 04 to a reader, but another payload.",
        PUBLISHED_SECRET,
        key("email.send"),
        mail(),
    )
    yield "03-null", vector("cc is null.", PUBLISHED_SECRET, key("email.send"), mail(cc=None))
    yield "04-empty-list", vector("cc is an empty list.", PUBLISHED_SECRET, key("email.send"), mail(cc=[]))
    yield "05-attachments", vector(
        "Two files, one of them empty; their bytes enter by digest and size.",
        OTHER_SECRET,
        key("email.send", revision=2),
        mail(
            attachments=[
                {"filename": "Übersicht März 📎.pdf", "content_type": "application/pdf", "base64": base64.b64encode(bytes(range(256))).decode()},
                {"filename": "empty.txt", "content_type": "text/plain; charset=utf-8", "base64": ""},
            ]
        ),
    )
    yield "06-text-as-it-came", vector(
        "No Unicode normalisation: é in one and in two code points, quotes, backslash, controls, a line separator.",
        OTHER_SECRET,
        key("email.send", request_id="é \"quoted\" \\ 📎", step="e\u0301"),
        mail(subject="caf\u00e9 / cafe\u0301", text="a\tb\r\nc\u0001\u001f\u007f\u2028 \"x\" \\ / \u20ac 😀 \u202e"),
    )
    yield "07-order-of-keys", vector(
        "Keys are ordered by UTF-16 code units: an astral letter comes before U+FB33.",
        OTHER_SECRET,
        key("webhook.post", destination="hook", environment="sandbox"),
        {"body": {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\u0080": 6, "\u00f6": 7, "": {"b": [], "a": {}}}},
    )
    yield "08-numbers-and-empties", vector(
        "The largest integers, zero, false, null and empty texts are kept.",
        OTHER_SECRET,
        key("crm.deal.update", destination="crm", step="deal", revision=4294967295),
        {
            "record": {"type": "deal", "match": {"id": 9007199254740991}},
            "fields": {"min": -9007199254740991, "max": 9007199254740991, "zero": 0, "owner": None, "note": "", "won": False, "score": "12.50"},
        },
    )


def approval():
    """One approval of the published vector, signed by a device whose seed is 32 times 0x01."""
    published = dict(vectors())["01-published"]
    seed = bytes([1]) * 32
    pkcs8 = bytes.fromhex("302e020100300506032b657004220420") + seed
    with tempfile.TemporaryDirectory() as folder:
        private, message, signed = (pathlib.Path(folder) / name for name in ("key.der", "message", "signature"))
        private.write_bytes(pkcs8)
        read = ["-inkey", private, "-keyform", "DER"]
        public = subprocess.run(
            ["openssl", "pkey", "-in", private, "-inform", "DER", "-pubout", "-outform", "DER"], capture_output=True, check=True
        ).stdout[-32:]
        fields = {
            "payload_version": 1,
            "payload_hash": published["payload_hash"],
            "wire_hash": sha256(b"wire"),
            "account": sha256(b"account"),
            "conversation": None,
            "by": "Noor",
            "device": sha256(public)[:16],
            "at": 1762161300000,
            "expires_at": 1762420500000,
            "sequence": 1,
        }
        covered = rfc8785(fields | {"action_key": key_array(published["action_key"])})
        message.write_bytes(b"countersign/approval/v1\n" + covered.encode())
        subprocess.run(["openssl", "pkeyutl", "-sign", *read, "-rawin", "-in", message, "-out", signed], check=True)
        return {
            "about": "An approval of 01-published; the device's seed is 32 bytes of 0x01.",
            "device_seed": seed.hex(),
            "device_public": public.hex(),
            "action_key": published["action_key"],
            **fields,
            "approval_canonical": covered,
            "signature": signed.read_bytes().hex(),
        }


def main():
    files = dict(vectors()) | {"approval": approval()}
    stale = []
    for name, content in files.items():
        path = HERE / f"{name}.json"
        text = json.dumps(content, ensure_ascii=True, indent=2) + "\n"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        sys.exit("differs: " + ", ".join(stale))


main()
