"""Uses the tools with the stock package `mcp` in one of its modes, and prints what it saw. 1.x knows sessions alone."""

import asyncio
import json
import os
import sys

URL = os.environ["TOUCHSTONE_MCP_URL"]
TIME = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}


async def use(client, seen):
    """What both versions of the package share."""
    progress = []

    async def told(done, whole, message):
        progress.append(done)

    seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
    order = await client.call_tool("get_order", {"id": "7"})
    seen["order"] = [json.loads(order.content[0].text)["total"], bool(getattr(order, "isError", getattr(order, "is_error", None)))]
    missing = await client.call_tool("get_order", {})
    seen["missing"] = missing.content[0].text
    time = await client.call_tool("convert_time", TIME, progress_callback=told)
    seen["time"] = json.loads(time.content[0].text)["time_difference"]
    slow = await client.call_tool("slow", {}, progress_callback=told)
    seen["slow"] = [slow.content[0].text, len(progress)]
    many = await asyncio.gather(*(client.call_tool("get_order", {"id": "7"}) for _ in range(20)))
    seen["many"] = len(many)
    try:
        seen["hidden"] = (await client.call_tool("get_current_time", {"timezone": "UTC"})).content[0].text
    except Exception as problem:
        seen["hidden"] = str(problem)


async def old():
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    seen = {}
    async with streamable_http_client(URL) as (read, write, session_id), ClientSession(read, write) as session:
        greeting = await session.initialize()
        seen["version"] = greeting.protocolVersion
        seen["has session"] = bool(session_id())
        await session.send_ping()
        await use(session, seen)
    return seen


async def new(mode):
    from mcp.client import Client

    seen = {}
    async with Client(URL, mode=mode) as client:
        seen["version"] = client.protocol_version
        await use(client, seen)
        if mode != "legacy":
            async with client.listen(tools_list_changed=True) as subscription:
                seen["listens"] = bool(subscription.honored.tools_list_changed)
    return seen


mode = sys.argv[1]
print(json.dumps(asyncio.run(old() if mode == "1.x" else new(mode))))
