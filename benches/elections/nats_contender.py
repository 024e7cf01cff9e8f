"""A contender for a key with a time to live: creates it where there is none, and renews it each
third of that time. Prints `leads` when the key is its own."""

import asyncio
import sys

import nats
from nats.js.errors import APIError, KeyWrongLastSequenceError

url, ttl, name = sys.argv[1], float(sys.argv[2]), sys.argv[3].encode()


async def main():
    client = await nats.connect(url)
    stream = client.jetstream()
    bucket = await stream.create_key_value(bucket="election", ttl=ttl, history=1)
    while True:
        try:
            revision = await bucket.create("role", name)
            break
        except (KeyWrongLastSequenceError, APIError):
            # An expired key is not announced in this version: contenders ask for it.
            await asyncio.sleep(ttl / 20)
    print("leads", flush=True)
    try:
        while True:
            await asyncio.sleep(ttl / 3)
            revision = await bucket.update("role", name, last=revision)
    except APIError:
        print("ended", flush=True)


asyncio.run(main())
