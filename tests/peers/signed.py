"""The Standard Webhooks library's own signature, or its own judgement of ours: what is wanted comes on stdin."""

import datetime
import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

asked = json.load(sys.stdin)
webhook = Webhook(asked["secret"])
if asked["want"] == "sign":
    at = datetime.datetime.fromtimestamp(asked["at"], tz=datetime.timezone.utc)
    print(json.dumps(webhook.sign(asked["id"], at, asked["body"])))
else:
    try:
        webhook.verify(asked["body"], asked["headers"])
        print("true")
    except WebhookVerificationError:
        print("false")
