"""Stands in for kube-rbac-proxy in the image of the tests, which has no other program: the same flags, the same answers.

Passes a GET of an allowed path on to the upstream if the API server knows the client's token (TokenReview) and lets its user
`get` that path (SubjectAccessReview): 404 for another path, 401 without a valid token, 403 without the right. The container
runs this file's text with `python -c`, so it imports nothing of the tests.
"""

import argparse
import http.server
import json
import os
import ssl
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def main() -> None:
    """Serve until the container is stopped."""
    parser = argparse.ArgumentParser()
    for name in (
        "secure-listen-address",
        "upstream",
        "allow-paths",
        "tls-cert-file",
        "tls-private-key-file",
    ):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    server = "https://{KUBERNETES_SERVICE_HOST}:{KUBERNETES_SERVICE_PORT}".format_map(os.environ)
    trusted = ssl.create_default_context(cafile=ACCOUNT / "ca.crt")

    def review(path: str, spec: dict[str, Any]) -> dict[str, Any]:
        headers = {
            "Authorization": "Bearer " + (ACCOUNT / "token").read_text(),
            "Content-Type": "application/json",
        }
        group, _, kind = path.partition(" ")
        body = json.dumps({"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}).encode()
        url = f"{server}/apis/{group}/v1/{kind.lower()}s"
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), context=trusted) as answer:
            return dict(json.load(answer)["status"])

    def verdict(path: str, authorization: str) -> int:
        if path not in args.allow_paths.split(","):
            return 404
        kind, _, token = authorization.partition(" ")
        known = review("authentication.k8s.io TokenReview", {"token": token}) if kind == "Bearer" else {}
        if not known.get("authenticated"):
            return 401
        who = {"user": known["user"]["username"], "groups": known["user"]["groups"]}
        asked = {**who, "nonResourceAttributes": {"path": path, "verb": "get"}}
        return 200 if review("authorization.k8s.io SubjectAccessReview", asked)["allowed"] else 403

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, body = urlsplit(self.path).path, b""
            status = verdict(path, self.headers.get("Authorization", ""))
            if status == 200:
                with urllib.request.urlopen(args.upstream.rstrip("/") + path) as answer:
                    body = answer.read()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    host, _, port = args.secure_listen_address.rpartition(":")
    listener = http.server.ThreadingHTTPServer((host, int(port)), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(args.tls_cert_file, args.tls_private_key_file)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    listener.serve_forever()


if __name__ == "__main__":
    main()
