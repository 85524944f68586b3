"""Solves a task with the OpenAI Agents SDK, whose tools come from the gateway, and prints the answer."""

import asyncio
import json
import os

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI


async def solve():
    set_tracing_disabled(True)
    async with MCPServerStreamableHttp({"url": os.environ["TOUCHSTONE_MCP_URL"]}, name="touchstone") as tools:
        model = OpenAIChatCompletionsModel(model="m", openai_client=AsyncOpenAI())
        agent = Agent(name="helper", instructions="Use the tools.", model=model, mcp_servers=[tools])
        return (await Runner.run(agent, "When was order 7 paid, and how much was it?")).final_output


print(json.dumps({"answer": asyncio.run(solve())}))
