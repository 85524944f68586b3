# An agent that uses Anthropic's stock package. Answers that do not have the shape of Anthropic's are errors.
from anthropic import Anthropic

client = Anthropic(max_retries=0, _strict_response_validation=True)
ASK = [{"role": "user", "content": "hello"}]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"name": "read_file", "description": "Reads a file.", "input_schema": SCHEMA}]
SETTINGS = {"model": "claude-scripted", "max_tokens": 100}

message = client.messages.create(messages=ASK, **SETTINGS)
print(f"message={message.content[0].text} {message.stop_reason}")
print(f"tokens={message.usage.input_tokens} {message.usage.output_tokens}")

with client.messages.stream(messages=ASK, **SETTINGS) as stream:
    text = "".join(stream.text_stream)
    final = stream.get_final_message()
print(f"stream={text} {final.stop_reason}")
print(f"stream tokens={final.usage.input_tokens} {final.usage.output_tokens}")

message = client.messages.create(messages=ASK, tools=TOOLS, **SETTINGS)
use = next(block for block in message.content if block.type == "tool_use")
print(f"tool={use.name} {use.input['path']} {message.stop_reason}")

told = ASK + [
    {"role": "assistant", "content": [block.model_dump() for block in message.content]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "the notes"}]},
]
with client.messages.stream(messages=told, tools=TOOLS, **SETTINGS) as stream:
    final = stream.get_final_message()
use = next(block for block in final.content if block.type == "tool_use")
print(f"streamed tool={use.name} {use.input['path']} {final.stop_reason}")

kinds = [event.type for event in client.messages.create(messages=ASK, stream=True, **SETTINGS)]
print(f"events={kinds[0]} {kinds[-1]}")
