"""Asks a model that breaks in every way of `llm_faults`, with the packages of OpenAI and Anthropic, and prints what they saw."""

import json
import sys
import time

import anthropic
import openai

TOOL = {"name": "order", "description": "x", "parameters": {"type": "object", "properties": {}}}
openai_client = openai.OpenAI(max_retries=0, timeout=10)
anthropic_client = anthropic.Anthropic(max_retries=0, timeout=10)


def said(text, reason, arguments):
    return f"{text!r} {reason} {arguments}"


def chat(stream):
    asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    if not stream:
        choice = openai_client.chat.completions.create(**asked).choices[0]
        arguments = [call.function.arguments for call in choice.message.tool_calls or []]
        return said(choice.message.content or "", choice.finish_reason, arguments)
    text, arguments, reason = "", "", None
    for chunk in openai_client.chat.completions.create(stream=True, **asked):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            arguments += "".join(call.function.arguments or "" for call in choice.delta.tool_calls or [])
            reason = choice.finish_reason or reason
    return said(text, reason, [arguments] if arguments else [])


def responses(stream):
    asked = {"model": "m", "input": "x"}
    if stream:
        answer = None
        for event in openai_client.responses.create(stream=True, **asked):
            answer = getattr(event, "response", answer)
    else:
        answer = openai_client.responses.create(**asked)
    details = answer.incomplete_details
    calls = [item.arguments for item in answer.output if item.type == "function_call"]
    return said(answer.output_text, details.reason if details else answer.status, calls)


def messages(stream):
    asked = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "x"}]}
    if stream:
        with anthropic_client.messages.stream(**asked) as events:
            answer = events.get_final_message()
    else:
        answer = anthropic_client.messages.create(**asked)
    text = "".join(block.text for block in answer.content if block.type == "text")
    calls = [json.dumps(block.input) for block in answer.content if block.type == "tool_use"]
    return said(text, answer.stop_reason, calls)


def attempt(ask, stream):
    began = time.monotonic()
    try:
        found = ask(stream)
    except (openai.OpenAIError, anthropic.AnthropicError) as error:
        status = getattr(error, "status_code", None)
        found = type(error).__name__ + (f" {status}" if status else "")
    except Exception as error:
        found = f"{type(error).__module__.split('.')[0]}.{type(error).__name__}"
    return found + (" late" if time.monotonic() - began >= 0.2 else "")


report = {}
for mode in sys.argv[1].split(","):
    report[mode] = {}
    for ask in (chat, responses, messages):
        for stream in (False, True):
            report[mode][f"{ask.__name__} {'streamed' if stream else 'whole'}"] = attempt(ask, stream)

# Their own logic of retries.
openai_client = openai.OpenAI(max_retries=2, timeout=10)
anthropic_client = anthropic.Anthropic(max_retries=2, timeout=10)
report["retried"] = {ask.__name__: attempt(ask, False).removesuffix(" late") for ask in (chat, responses, messages)}
print(json.dumps(report))
