#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""asyncio_echo: an ordinary asyncio echo server and a client that checks it.

    asyncio_echo.py server HOST PORT
    asyncio_echo.py client HOST PORT [--connections N] [--bytes N] [--seed N]

Each connection of the client writes and reads at once, in pieces of random
sizes, then half-closes and expects the rest and the end.  It knows nothing
of krcore."""

import argparse
import asyncio
import random


async def echo(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    finally:
        writer.close()


async def serve(opts):
    server = await asyncio.start_server(echo, opts.host, opts.port, backlog=512)
    async with server:
        await server.serve_forever()


async def send(writer, data, rng):
    at = 0
    while at < len(data):
        size = rng.randint(1, 1 << rng.randint(0, 15))
        writer.write(data[at:at + size])
        await writer.drain()
        at += size
    writer.write_eof()


async def receive(reader):
    parts = []
    while data := await reader.read(100000):
        parts.append(data)
    return b"".join(parts)


async def call(opts, number):
    rng = random.Random(opts.seed * 1000003 + number)
    data = rng.randbytes(rng.randint(1, 2 * opts.bytes))
    reader, writer = await asyncio.open_connection(opts.host, opts.port)
    _, back = await asyncio.gather(send(writer, data, rng), receive(reader))
    writer.close()
    await writer.wait_closed()
    if back != data:
        raise SystemExit(f"connection {number}: {len(data)} bytes sent, "
                         f"{len(back)} other bytes came back")
    return len(data)


async def run(opts):
    sizes = await asyncio.gather(*(call(opts, n)
                                   for n in range(opts.connections)))
    print(f"{len(sizes)} connections, {sum(sizes)} bytes echoed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["server", "client"])
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--bytes", type=int, default=100000,
                        help="mean size of an echo")
    parser.add_argument("--seed", type=int, default=1)
    opts = parser.parse_args()
    try:
        asyncio.run(serve(opts) if opts.role == "server" else run(opts))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
