#!/usr/bin/env bash
# Gets the real programs that tests talk to where they are installed: a llama.cpp server (python3 with venv), a searx
# (Debian, as root), clients of OpenAI's protocol and of MCP (python3 with venv, npm), and what clients in Python, TypeScript
# (with npm), Go and Java (with mvn) are made with. A test whose program is missing says so and passes. Run it again at any
# time.
set -euo pipefail
cd "$(dirname "$0")/.."

peers="${CARGO_TARGET_DIR:-$PWD/target}/peers"
mkdir -p "$peers"
peers=$(cd "$peers" && pwd)
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

# What the clients of tests/clients need, in the versions that their own files name. A test runs a client with what was
# installed from exactly these files, which `installed` has, and with nothing else.
clients="$peers/clients"
buf=1.75.0

python_client() {
    python3 -m venv --clear "$1/venv" >/dev/null 2>&1 &&
        timeout 120 "$1/venv/bin/pip" download --quiet --disable-pip-version-check --only-binary=:all: --dest "$1/wheels" \
            --requirement "$2/requirements.txt" &&
        "$1/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$1/wheels" \
            --requirement "$2/requirements.txt"
}
typescript_client() {
    local npm=(--cache "$1/cache" --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp "$2/package.json" "$2/package-lock.json" "$1" &&
        timeout 180 npm ci --prefix "$1" "${npm[@]}" >/dev/null &&
        timeout 120 npm install --prefix "$1" --no-save --no-package-lock "${npm[@]}" "@bufbuild/buf@$buf" >/dev/null
}
go_client() {
    cp "$2/go.mod" "$2/go.sum" "$1" && (
        cd "$1"
        export GOMODCACHE="$1/modules" GOCACHE="$1/build" GOBIN="$1/bin" GOFLAGS=-modcacherw
        # The plugins stand in go.mod beside what their output needs.
        timeout 300 go install tool && timeout 120 go mod download
    )
}
java_client() {
    # All of it is had by doing it once.
    rm -rf "$1/once" && cp -r "$2" "$1/once" && cp -r proto "$1/once/proto" &&
        timeout 300 mvn -B -q -f "$1/once/pom.xml" -Dmaven.repo.local="$1/repository" compile >"$1/log" 2>&1
}

# install LANGUAGE PROGRAM FILE...: once for each content of the files.
install() {
    local language=$1 program=$2 folder="$clients/$1" from="tests/clients/$1" pins
    shift 2
    pins=$(cd "$from" && cat "$@")
    if [ "$(cat "$folder/installed" 2>/dev/null)" = "$pins" ]; then
        echo "$language client: installed"
        return
    fi
    rm -rf "$folder"
    mkdir -p "$folder"
    if command -v "$program" >/dev/null && "${language}_client" "$folder" "$from"; then
        echo "$pins" >"$folder/installed"
        echo "$language client: installed what it needs"
    else
        chmod -R u+w "$folder"
        rm -rf "$folder"
        echo "NOT INSTALLED: what a client in $language needs, for $program or its packages cannot be had here"
    fi
}
install python python3 requirements.txt
install typescript npm package.json package-lock.json
install go go go.mod go.sum
install java mvn pom.xml
