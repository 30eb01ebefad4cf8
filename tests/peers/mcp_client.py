"""An agent's side of MCP, by the official SDK: starts the server it is told, then one call per line of stdin, one answer
per line of stdout. What is right is decided by the test that drives it."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client


def said(document):
    print(json.dumps(document), flush=True)


async def one(session, call):
    try:
        if call.get("tool") is None:
            listed = await session.list_tools()
            return listed.model_dump(mode="json", by_alias=True)
        result = await session.call_tool(call["tool"], call.get("arguments", {}))
        return result.model_dump(mode="json", by_alias=True)
    except MCPError as refused:
        return {"protocol_error": str(refused)}


async def main():
    start = json.loads(sys.argv[1])
    server = StdioServerParameters(command=start["command"], args=start["args"], env={**os.environ, **start["env"]})
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        said(hello.model_dump(mode="json", by_alias=True))
        while line := await asyncio.to_thread(sys.stdin.readline):
            said(await one(session, json.loads(line)))


asyncio.run(main())
