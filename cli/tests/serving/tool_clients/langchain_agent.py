"""Solves a task with LangGraph, whose tools come from the gateway through langchain-mcp-adapters, and prints the answer."""

import asyncio
import json
import os

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent


async def solve():
    client = MultiServerMCPClient({"touchstone": {"transport": "streamable_http", "url": os.environ["TOUCHSTONE_MCP_URL"]}})
    agent = create_react_agent(ChatOpenAI(model="m"), await client.get_tools())
    asked = {"messages": [{"role": "user", "content": "When was order 7 paid, and how much was it?"}]}
    return (await agent.ainvoke(asked))["messages"][-1].content


print(json.dumps({"answer": asyncio.run(solve())}))
