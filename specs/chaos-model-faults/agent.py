"""Asks a model that breaks in seventeen ways, and reports what a client sees."""

import http.client
import json
import os
import time
from urllib.parse import urlsplit

model = urlsplit(os.environ["OPENAI_BASE_URL"])
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
began = time.monotonic()


def late():
    return "late" if time.monotonic() - began >= 0.2 else "early"


def begin(text, stream=False):
    """The head of an answer."""
    global began
    began = time.monotonic()
    connection = http.client.HTTPConnection(model.hostname, model.port or 80, timeout=30)
    question = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": text}]}
    connection.request("POST", model.path + "/chat/completions", json.dumps(question), headers)
    return connection.getresponse()


def ask(text, stream=False):
    """One answer: its status, headers and body."""
    answer = begin(text, stream)
    return answer.status, answer.headers, answer.read()


def choice(text):
    return json.loads(ask(text)[2])["choices"][0]


def unanswered(text):
    try:
        return ask(text)[0]
    except http.client.RemoteDisconnected:
        return f"closed {late()}"
    except ConnectionResetError:
        return "reset"


def broken(text):
    try:
        return ask(text, stream=True)[2].decode()
    except http.client.IncompleteRead as error:
        return f"cut {late()} after {error.partial.count(bytes([10, 10]))}"


report = {"timeout": unanswered("1")}
answer = json.loads(ask("2")[2])
report["truncated"] = "{} {} {}".format(
    answer["choices"][0]["message"]["content"], answer["choices"][0]["finish_reason"], answer["usage"]["completion_tokens"]
)
report["cut"] = broken("3")
report["hang"] = broken("4")
status, fields, _ = ask("5")
report["rate"] = f"{status} after {fields['Retry-After']}"
status, _, body = ask("6")
report["error"] = f"{status} {json.loads(body)['error']['message']}"
report["down"] = unanswered("7")
status, _, body = ask("8")
report["context"] = f"{status} {json.loads(body)['error']['code']}"
report["filter"] = choice("9")["finish_reason"]
message = choice("10")["message"]
report["empty"] = "nothing" if not message["content"] and "tool_calls" not in message else str(message)
message = choice("11")["message"]
report["garbage"] = "gibberish" if message["content"] and "buy" not in message["content"] else str(message)
report["format"] = choice("12")["message"]["content"].split("\n")[0]
report["compress"] = choice("13")["message"]["content"]
report["arguments"] = choice("14")["message"]["tool_calls"][0]["function"]["arguments"]
ask("15")
report["delay"] = late()
answer = begin("16")
head = late()
answer.read()
report["first"] = f"head {head} and body {late()}"
ask("17", stream=True)
report["slow"] = late()

lab = http.client.HTTPConnection("lab", 80, timeout=30)
lab.request("POST", "/report", json.dumps(report), {"Content-Type": "application/json"})
print(lab.getresponse().status, json.dumps(report, indent=1))
