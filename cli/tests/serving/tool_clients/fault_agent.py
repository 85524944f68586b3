"""Calls a tool for each mode of faults with the stock package `mcp`, and prints what it saw. Each call has a client of its own."""

import asyncio
import json
import os
import sys

from mcp.client import Client

URL = os.environ["TOUCHSTONE_MCP_URL"]


def told(problem):
    """The first plain exception of a group."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return str(problem) if type(problem).__name__ == "MCPError" else type(problem).__name__


async def call(era, tool):
    try:
        async with Client(URL, mode=era, read_timeout_seconds=5) as client:
            result = await client.call_tool(tool, {})
            said = result.content[0].text if result.content else "nothing"
            return f"{'error: ' if result.is_error else ''}{said[:60]}"
    except Exception as problem:
        return told(problem)


async def listed(era):
    try:
        async with Client(URL, mode=era, read_timeout_seconds=5) as client:
            return {tool.name: tool.description for tool in (await client.list_tools()).tools}
    except Exception as problem:
        return told(problem)


async def see(era, modes):
    lists = [await listed(era) for _ in range(3)]
    seen = {mode: [await call(era, mode), await call(era, mode)] for mode in modes}
    return {**seen, "lists": [*lists, await listed(era)]}


print(json.dumps(asyncio.run(see(sys.argv[1], sys.argv[2].split(",")))))
