import json
import urllib.request

ticket = json.load(open("ticket.json"))
text = (
    f"Dear {ticket['name']}, your refund of {ticket['amount']} euros for order {ticket['order']} is on its way. "
    "If you have questions, write to support@shop.example."
)
body = json.dumps({"to": ticket["name"], "text": text}).encode()
request = urllib.request.Request("http://mail/messages", body, {"Content-Type": "application/json"})
urllib.request.urlopen(request)
print(json.dumps({"order": ticket["order"], "status": "refunded", "amount": ticket["amount"]}, indent=2))
