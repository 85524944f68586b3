# An agent that uses OpenAI's stock package. Answers that do not have the shape of OpenAI's are errors.
import json

from openai import OpenAI

client = OpenAI(max_retries=0, _strict_response_validation=True)
MODEL = "gpt-4o"
ASK = [{"role": "user", "content": "hello"}]
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CHAT_TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": PARAMETERS}}]
RESPONSES_TOOLS = [{"type": "function", "name": "read_file", "parameters": PARAMETERS, "strict": False}]


def chat(**settings):
    return client.chat.completions.create(model=MODEL, **settings)


def joined(chunks):
    """What the chunks of a stream come to: text, tool calls by their place, the reason of the end, tokens."""
    text, calls, reason, usage = "", {}, None, None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                call["id"] += part.id or ""
                call["name"] += part.function.name or ""
                call["arguments"] += part.function.arguments or ""
    return text, calls, reason, usage


answer = chat(messages=ASK)
print(f"chat={answer.choices[0].message.content} {answer.choices[0].finish_reason}")
print(f"chat tokens={answer.usage.prompt_tokens} {answer.usage.completion_tokens} {answer.usage.total_tokens}")

text, calls, reason, usage = joined(chat(messages=ASK, stream=True, stream_options={"include_usage": True}))
print(f"stream={text} {reason}")
print(f"stream tokens={usage.prompt_tokens} {usage.completion_tokens}")

answer = chat(messages=ASK, tools=CHAT_TOOLS)
call = answer.choices[0].message.tool_calls[0]
print(f"tool={call.function.name} {json.loads(call.function.arguments)['path']} {answer.choices[0].finish_reason}")
told = ASK + [
    answer.choices[0].message.model_dump(exclude_none=True),
    {"role": "tool", "tool_call_id": call.id, "content": "the notes"},
]
text, calls, reason, _ = joined(chat(messages=told, tools=CHAT_TOOLS, stream=True))
print(f"streamed tool={calls[0]['name']} {json.loads(calls[0]['arguments'])['path']} {reason}")

response = client.responses.create(model=MODEL, input="hello")
print(f"response={response.output_text} {response.status}")
print(f"response tokens={response.usage.input_tokens} {response.usage.output_tokens}")

text, last = "", None
for event in client.responses.create(model=MODEL, input="hello", stream=True):
    if event.type == "response.output_text.delta":
        text += event.delta
    last = event
print(f"streamed response={text} {last.type} {last.response.output_text}")

response = client.responses.create(model=MODEL, input="hello", tools=RESPONSES_TOOLS)
call = next(item for item in response.output if item.type == "function_call")
print(f"response tool={call.name} {json.loads(call.arguments)['path']}")

# The package asks for base64 and decodes it after it has looked at the shape, so a strict client refuses every answer.
lenient = OpenAI(max_retries=0)
first, second, again = lenient.embeddings.create(model="text-embedding-3-small", input=["a", "b", "a"]).data
print(f"embeddings={len(first.embedding) > 0} {first.embedding == again.embedding} {first.embedding == second.embedding}")
print(f"models={len(client.models.list().data) > 0}")
