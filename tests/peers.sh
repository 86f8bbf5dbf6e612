#!/usr/bin/env bash
# Gets the real programs that tests talk to where they are installed: a llama.cpp server (python3 with venv) and a searx
# (Debian, as root), and clients of OpenAI's protocol and of MCP (python3 with venv, npm). A test whose program is missing
# says so and passes. Run it again at any time.
set -euo pipefail
cd "$(dirname "$0")/.."

peers="${CARGO_TARGET_DIR:-$PWD/target}/peers"
llama_cpp=xllamacpp==2026.10.11549

if [ "$(cat "$peers/llama-cpp/installed" 2>/dev/null)" = "$llama_cpp" ]; then
    echo "llama.cpp: $llama_cpp is installed"
elif python3 -m venv --clear "$peers/llama-cpp" >/dev/null 2>&1 &&
    timeout 300 "$peers/llama-cpp/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: "$llama_cpp"; then
    echo "$llama_cpp" >"$peers/llama-cpp/installed"
    echo "llama.cpp: installed $llama_cpp"
else
    rm -rf "$peers/llama-cpp"
    echo "NOT INSTALLED: llama.cpp ($llama_cpp), for python3 or its package cannot be had here"
fi

if command -v searx-run >/dev/null; then
    echo "searx: installed"
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
    timeout 600 sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends searx' >/dev/null 2>&1; then
    echo "searx: installed"
else
    echo "NOT INSTALLED: searx, which needs Debian's packages and root"
fi

# Clients of the gateway: the packages of their makers, in Python and for Node.
clients_python="openai==3.54.0 mcp==2.3.0"
if [ "$(cat "$peers/clients-python/installed" 2>/dev/null)" = "$clients_python" ]; then
    echo "clients in Python: $clients_python are installed"
elif python3 -m venv --clear "$peers/clients-python" >/dev/null 2>&1 &&
    # shellcheck disable=SC2086 # two words, two packages
    timeout 300 "$peers/clients-python/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: $clients_python; then
    echo "$clients_python" >"$peers/clients-python/installed"
    echo "clients in Python: installed $clients_python"
else
    rm -rf "$peers/clients-python"
    echo "NOT INSTALLED: clients in Python ($clients_python), for python3 or the packages cannot be had here"
fi

clients_node="openai@7.57.0 @modelcontextprotocol/sdk@1.32.2"
if [ "$(cat "$peers/clients-node/installed" 2>/dev/null)" = "$clients_node" ]; then
    echo "clients for Node: $clients_node are installed"
elif command -v npm >/dev/null && rm -rf "$peers/clients-node" && mkdir -p "$peers/clients-node" &&
    # shellcheck disable=SC2086 # two words, two packages
    timeout 300 npm install --prefix "$peers/clients-node" --no-audit --no-fund --ignore-scripts --silent $clients_node >/dev/null 2>&1; then
    echo "$clients_node" >"$peers/clients-node/installed"
    echo "clients for Node: installed $clients_node"
else
    rm -rf "$peers/clients-node"
    echo "NOT INSTALLED: clients for Node ($clients_node), for npm or the packages cannot be had here"
fi
