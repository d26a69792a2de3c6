#!/usr/bin/env python3
"""Asks headlight serve one request at a time and writes what it answered, for tools/load-test.

  load_test_answers.py LINK FOLDER     writes FOLDER/answers.lua and one file for each answer
"""
import json
import sys
import urllib.request

TEXTS = [
    "The animal didn't cross the street because it was too tired.",
    "The cat sat on the mat.",
    "It was a long day and nobody wanted to go home.",
]


def main(link: str, folder: str) -> None:
    origin, token = link.split("/#token=")
    token = token.split("&")[0]

    def ask(path: str, body: str | None = None) -> bytes:
        headers = {"X-Headlight-Token": token, "Content-Type": "application/json"}
        request = urllib.request.Request(origin + path, body.encode() if body else None, headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read()

    asked = []  # (path, body, answer)

    def keep(path: str, body: str | None = None) -> bytes:
        answer = ask(path, body)
        asked.append((path, body, answer))
        return answer

    keep("/")
    start = json.loads(keep("/api/v1/models"))
    for model in start["models"]:
        for text in TEXTS:
            body = json.dumps({"model": model["name"], "text": text})
            run = json.loads(keep("/api/v1/run", body))
            base = f"/api/v1/run/{run['id']}"
            for part in run["parts"]:
                name, layer, head = part["part"], part["layers"] - 1, part["heads"] - 1
                for path in (f"{name}/weights.f32", f"{name}/atlas.u8", f"{name}/row/2.f32",
                             f"{name}/{layer}/{head}.bin", f"{name}/{layer}/{head}.matrices"):
                    keep(f"{base}/{path}")
            keep(f"{base}/next?position=1")
    # Models are described only after they were loaded, so this answer has changed meanwhile.
    asked[1] = ("/api/v1/models", None, ask("/api/v1/models"))
    lines = []
    for number, (path, body, answer) in enumerate(asked):
        with open(f"{folder}/{number}", "wb") as file:
            file.write(answer)
        lines.append(f"  {{path = {json.dumps(path)}, body = {json.dumps(body or '')}, file = {json.dumps(f'{folder}/{number}')}}},")
    with open(f"{folder}/answers.lua", "w") as file:
        file.write(f"return {{token = {json.dumps(token)}, host = {json.dumps(origin[7:])}, list = {{\n" + "\n".join(lines) + "\n}}\n")
    print(f"{len(asked)} requests, {sum(len(a) for _, _, a in asked) / 1e6:.1f} MB of answers, one client", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
