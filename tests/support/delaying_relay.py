"""A relay for tests in a network of their own: what comes on one address goes to another, each part
later by a delay. Arguments: the delay in milliseconds, then pairs FROM TO as IP:PORT. It says
"ready" once it listens, and ends with its standard input."""

import asyncio
import sys


def place(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


async def copy(reader, writer, delay):
    loop = asyncio.get_running_loop()
    parts = asyncio.Queue(maxsize=1024)

    async def deliver():
        while True:
            due, part = await parts.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not part:
                writer.close()
                return
            writer.write(part)
            await writer.drain()

    delivery = asyncio.create_task(deliver())
    while True:
        try:
            part = await reader.read(16384)
        except OSError:
            part = b""
        await parts.put((loop.time() + delay, part))
        if not part:
            return await delivery


async def main():
    delay, pairs = float(sys.argv[1]) / 1000, sys.argv[2:]
    for at, to in zip(pairs[::2], pairs[1::2]):

        async def serve(reader, writer, to=to):
            try:
                there, back = await asyncio.open_connection(*place(to))
            except OSError:
                writer.close()
                return
            both = (copy(reader, back, delay), copy(there, writer, delay))
            await asyncio.gather(*both, return_exceptions=True)

        await asyncio.start_server(serve, *place(at))
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
