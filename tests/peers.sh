#!/usr/bin/env bash
# Gets the real programs that tests talk to where they are installed: a llama.cpp server (python3 with venv), a searx
# (Debian, as root), clients of OpenAI's protocol and of MCP (python3 with venv, npm), a browser, and what clients in Python, TypeScript
# (with npm), Go and Java (with mvn) are made with. A test whose program is missing says so and passes. Run it again at any
# time.
#
# `tests/peers.sh all` also builds what takes long, once, with Go: the API servers of three versions of Kubernetes, etcd and
# Helm, which the chart is tested with, and Jaeger, which traces are read in. Some ten minutes each on two cores, and 15 GB
# below $GOCACHE and $GOMODCACHE while they are built.
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

# The page in a browser: a driver and rules of accessibility for Node, and Debian's Chromium.
page_pins=$(cat services/gateway/tests/page/package-lock.json)
if [ "$(cat "$peers/page/installed" 2>/dev/null)" = "$page_pins" ]; then
    echo "page: its packages are installed"
elif command -v npm >/dev/null && rm -rf "$peers/page" && mkdir -p "$peers/page" &&
    cp services/gateway/tests/page/package.json services/gateway/tests/page/package-lock.json "$peers/page" &&
    timeout 180 npm ci --prefix "$peers/page" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null; then
    echo "$page_pins" >"$peers/page/installed"
    echo "page: installed its packages"
else
    rm -rf "$peers/page"
    echo "NOT INSTALLED: what tests of the page need, for npm or the packages cannot be had here"
fi
if command -v chromium >/dev/null; then
    echo "chromium: installed"
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
    timeout 600 sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium' >/dev/null 2>&1; then
    echo "chromium: installed"
else
    echo "NOT INSTALLED: chromium, which needs Debian's packages and root"
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

# The newest patch of each of the three versions that Kubernetes maintains, and what belongs to them.
kubernetes=(v1.37.2 v1.36.3 v1.35.4)
etcd=v3.7.0
helm=v4.3.1
jaeger=v1.76.0
# Kinds that clusters have from elsewhere: module, and the files of their definitions in it.
definitions=(
    "sigs.k8s.io/gateway-api@v1.7.0 config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml"
    "github.com/cert-manager/cert-manager@v1.21.2 deploy/crds/cert-manager.io_certificates.yaml"
    "github.com/kedacore/keda/v2@v2.21.0 config/crd/bases/keda.sh_scaledobjects.yaml"
    "github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"
    "github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"
)

# Where the files of a module are: Go's cache, checked against its checksum database.
module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# Builds a package of a module that others can depend on: NAME MODULE@VERSION PACKAGE [go.mod lines] [linker flags].
build() {
    local name=$1 module=$2 package=$3 lines=${4:-} flags=${5:-} work
    work=$(mktemp -d)
    printf 'module emend.test/peers\n\ngo 1.26.0\n\nrequire %s %s\n%s\n' "${module%@*}" "${module#*@}" "$lines" >"$work/go.mod"
    mkdir -p "$(dirname "$peers/$name")"
    # Imported, so that `tidy` keeps what the program needs.
    printf '//go:build peers\n\npackage peers\n\nimport _ "%s"\n' "$package" >"$work/peers.go"
    (cd "$work" && go mod tidy >/dev/null 2>&1 &&
        nice -n 10 go build -mod=mod -p 2 -trimpath -ldflags "-s -w $flags" -o "$peers/$name" "$package")
    local built=$?
    rm -rf "$work"
    return $built
}

# Does `$3…` once for each version: NAME VERSION COMMAND….
once() {
    local name=$1 version=$2
    shift 2
    if [ "$(cat "$peers/$name.version" 2>/dev/null)" = "$version" ]; then
        echo "$name: $version is installed"
    elif [ "$all" = no ]; then
        echo "NOT INSTALLED: $name $version, which takes minutes; \`tests/peers.sh all\` builds it"
    elif command -v go >/dev/null && "$@"; then
        echo "$version" >"$peers/$name.version"
        echo "$name: installed $version"
    else
        echo "NOT INSTALLED: $name $version, for Go or its modules cannot be had here"
    fi
}

api_server() {
    local version=$1 minor libraries
    minor=${version%.*}
    # Its repository names its own libraries by folders; here they are the releases of the same version.
    libraries=$(sed -n "s,^\t\(k8s.io/[a-z-]*\) => ./staging/.*,replace \1 => \1 v0.${version#v1.},p" \
        "$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')") || return 1
    local of=k8s.io/component-base/version
    build "kubernetes/kube-apiserver-$minor" "k8s.io/kubernetes@$version" k8s.io/kubernetes/cmd/kube-apiserver "$libraries" \
        "-X $of.gitVersion=$version -X $of.gitMajor=1 -X $of.gitMinor=${minor#v1.}"
}

crds() {
    rm -rf "$peers/kubernetes/definitions" && mkdir -p "$peers/kubernetes/definitions"
    local line folder
    for line in "${definitions[@]}"; do
        folder=$(module "${line% *}") && cp "$folder/${line#* }" "$peers/kubernetes/definitions/" || return 1
    done
}

# With its own go.sum, for not all that it needs is in the checksum database.
jaeger() {
    local work folder
    work=$(mktemp -d) && folder=$(module "github.com/jaegertracing/jaeger@$1") || return 1
    mkdir -p "$peers/jaeger"
    cp -r "$folder/." "$work" && chmod -R u+w "$work" &&
        (cd "$work" && nice -n 10 go build -p 2 -trimpath -ldflags "-s -w" -o "$peers/jaeger/jaeger" ./cmd/jaeger)
    local built=$?
    rm -rf "$work"
    return $built
}

all=no
[ "${1:-}" != all ] || all=yes
mkdir -p "$peers/kubernetes" "$peers/jaeger"
once kubernetes/helm "$helm" build kubernetes/helm "helm.sh/helm/v4@$helm" helm.sh/helm/v4/cmd/helm
once kubernetes/etcd "$etcd" build kubernetes/etcd "go.etcd.io/etcd/server/v3@$etcd" go.etcd.io/etcd/server/v3
once kubernetes/definitions "$(printf '%s\n' "${definitions[@]}" | sha256sum | cut -c1-16)" crds
for version in "${kubernetes[@]}"; do
    once "kubernetes/kube-apiserver-${version%.*}" "$version" api_server "$version"
done
once jaeger/jaeger "$jaeger" jaeger "$jaeger"
