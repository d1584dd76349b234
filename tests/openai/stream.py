"""The openai client streams from an app through the gateway: stream.py URL HOST TOKEN. Says how the pieces came."""

import sys
import time

from openai import AuthenticationError, OpenAI

url, host, token = sys.argv[1:]
words = "one two three four five six seven eight"


def client(key):
    return OpenAI(base_url=f"{url}/cgi-bin/v1", api_key=key, default_headers={"Host": host}, max_retries=0)


assert [model.id for model in client(token).models.list()] == ["echo"]
pieces = []
stream = client(token).chat.completions.create(model="echo", stream=True, messages=[{"role": "user", "content": words}])
for piece in stream:
    if piece.choices[0].delta.content:
        pieces.append((time.monotonic(), piece.choices[0].delta.content))
said = "".join(text for _, text in pieces).strip()
assert said == words, said
# The app takes a tenth of a second for each word: a proxy that gathers them would hand them over at once.
spread = pieces[-1][0] - pieces[0][0]
assert spread > 0.5, f"all {len(pieces)} pieces came within {spread:.2f} s"
try:
    client("gpue_00000000000070008000000000000000_" + "A" * 43).models.list()
    raise SystemExit("a made-up token was let in")
except AuthenticationError:
    pass
print(f"{len(pieces)} pieces over {spread:.2f} s")
