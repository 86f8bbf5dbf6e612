"""Uses the tools through MCP's own package: mcp_client.py GATEWAY, or mcp_client.py COMMAND ARGUMENT…"""

import asyncio
import os
import sys

from mcp import Client, MCPError, StdioServerParameters

ASKED = "How many days of paid leave does every employee have?"


async def use(server, mode, over_http):
    collection = {"collection": "handbook"} if over_http else {}
    async with Client(server, mode=mode) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"ask", "search", "ingest", "list_collections", "explain_walk"}, tools

        told = []

        async def progress(done, total, message):
            told.append(message)

        answer = await client.call_tool(
            "ask", {"question": ASKED, "graph": "self-rag", **collection}, progress_callback=progress
        )
        assert not answer.is_error, answer
        assert "25 days of paid leave a year. [1]" in answer.content[0].text, answer
        said = answer.structured_content
        assert said["status"] == "ANSWERED", said
        assert any("retrieve" in message for message in told), told
        uri = said["citations"][0]["uri"]
        passage = await client.read_resource(uri)
        assert "25 days" in passage.contents[0].text, passage
        listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert (uri in listed) != over_http, listed

        explained = await client.call_tool("explain_walk", {"walk": said["walk"]})
        assert "retrieve" in explained.content[0].text and "ANSWERED" in explained.content[0].text, explained

        found = await client.call_tool("search", {"query": "trains", "topK": 2, **collection})
        assert any("second class" in passage["text"] for passage in found.structured_content["passages"]), found

        stored = await client.call_tool(
            "ingest", {"documents": [{"id": "canteen", "text": "The canteen closes at three."}], **collection}
        )
        assert stored.structured_content["documents"][0]["status"] in ("INGESTED", "UNCHANGED"), stored
        collections = await client.call_tool("list_collections", {})
        assert collections.structured_content["collections"], collections

        wrong = await client.call_tool("ask", {"question": ASKED, "graph": "nothing", **collection})
        assert wrong.is_error and "self-rag" in wrong.content[0].text, wrong
        try:
            await client.call_tool("nothing", {})
        except MCPError as refused:
            assert "explain_walk" in str(refused), refused
        else:
            raise AssertionError("an unknown tool was called")


async def main():
    for mode in ("legacy", "auto"):
        if sys.argv[1].startswith("http"):
            await use(sys.argv[1] + "/mcp", mode, over_http=True)
        else:
            command, *arguments = sys.argv[1:]
            await use(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)), mode, over_http=False)
    print("ok")


asyncio.run(main())
