#!/usr/bin/env bash
# Gets the real programs that tests talk to where they are installed: a llama.cpp server (python3 with venv), a searx
# (Debian, as root), a reader of OpenMetrics (python3 with venv), clients of OpenAI's protocol and of MCP (python3 with venv,
# npm), stubs of gRPC-Web (npm), a browser, and what clients in Python, TypeScript (with npm), Go and Java (with mvn) are made
# with. A test whose program is missing says so and passes. Run it again at any time.
#
# `tests/peers.sh all` also builds what takes long, once, with Go: the API servers of three versions of Kubernetes, etcd and
# Helm, which the chart is tested with, Jaeger, which traces are read in, and Prometheus' promtool, which reads the alerts.
# Some ten minutes each on two cores, and 15 GB below $GOCACHE and $GOMODCACHE while they are built.
set -euo pipefail
cd "$(dirname "$0")/.."

peers="${CARGO_TARGET_DIR:-$PWD/target}/peers"
mkdir -p "$peers"
peers=$(cd "$peers" && pwd)

# install NAME PROGRAM PINS COMMAND [ARGUMENT...]: runs COMMAND with an empty folder and the arguments, once for each PINS,
# which the file `installed` of the folder keeps. COMMAND needs PROGRAM.
install() {
    local name=$1 program=$2 pins=$3 command=$4 folder="$peers/$1"
    shift 4
    if [ "$(cat "$folder/installed" 2>/dev/null)" = "$pins" ]; then
        echo "$name: is installed"
        return
    fi
    empty "$folder"
    if command -v "$program" >/dev/null && "$command" "$folder" "$@"; then
        echo "$pins" >"$folder/installed"
        echo "$name: installed"
    else
        empty "$folder" && rmdir "$folder"
        echo "NOT INSTALLED: $name, for $program or its packages cannot be had here"
    fi
}
# Go's modules are write-protected.
empty() {
    [ ! -d "$1" ] || { chmod -R u+w "$1" && rm -rf "$1"; }
    mkdir -p "$1"
}

# debian PACKAGE PROGRAM
debian() {
    if command -v "$2" >/dev/null; then
        echo "$1: is installed"
    elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
        timeout 600 sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $1" >/dev/null 2>&1; then
        echo "$1: installed"
    else
        echo "NOT INSTALLED: $1, which needs Debian's packages and root"
    fi
}

pip=(--quiet --disable-pip-version-check)
npm=(--ignore-scripts --no-audit --no-fund --loglevel=error)

pip_packages() {
    python3 -m venv "$1" >/dev/null 2>&1 && timeout 300 "$1/bin/pip" install "${pip[@]}" --only-binary=:all: "${@:2}"
}
npm_packages() { timeout 300 npm install --prefix "$1" "${npm[@]}" "${@:2}" >/dev/null; }
npm_locked() { cp "$2/package.json" "$2/package-lock.json" "$1" && timeout 180 npm ci --prefix "$1" "${npm[@]}" >/dev/null; }

llama_cpp=xllamacpp==2026.10.11549
install llama-cpp python3 "$llama_cpp" pip_packages "$llama_cpp"
debian searx searx-run

# The parser of OpenMetrics of Prometheus' client for Python.
open_metrics=prometheus-client==0.26.0
install open-metrics python3 "$open_metrics" pip_packages "$open_metrics"

# What generates from the contracts.
buf=1.75.0

# Clients of the gateway: the packages of their makers, in Python and for Node, and stubs of gRPC-Web as browsers have them.
clients_python=(openai==3.54.0 mcp==2.3.0)
clients_node=(openai@7.57.0 @modelcontextprotocol/sdk@1.32.2)
install clients-python python3 "${clients_python[*]}" pip_packages "${clients_python[@]}"
install clients-node npm "${clients_node[*]}" npm_packages "${clients_node[@]}"
clients_web=(
    @connectrpc/connect@2.2.0 @connectrpc/connect-web@2.2.0 @bufbuild/protobuf@2.17.0 @bufbuild/protoc-gen-es@2.17.0
    google-proto-files@6.0.1 "@bufbuild/buf@$buf"
)
install clients-web npm "${clients_web[*]}" npm_packages "${clients_web[@]}"

# The page in a browser: a driver and rules of accessibility for Node, and Debian's Chromium.
page=services/gateway/tests/page
install page npm "$(cat $page/package-lock.json)" npm_locked $page
debian chromium chromium

# What the clients of tests/clients need, in the versions that their own files name. A test runs a client with what was
# installed from exactly these files, which `installed` has, and with nothing else.
python_client() {
    python3 -m venv "$1/venv" >/dev/null 2>&1 &&
        timeout 120 "$1/venv/bin/pip" download "${pip[@]}" --only-binary=:all: --dest "$1/wheels" --requirement "$2/requirements.txt" &&
        "$1/venv/bin/pip" install "${pip[@]}" --no-index --find-links "$1/wheels" --requirement "$2/requirements.txt"
}
typescript_client() {
    local npm=("${npm[@]}" --cache "$1/cache")
    npm_locked "$1" "$2" && npm_packages "$1" --no-save --no-package-lock "@bufbuild/buf@$buf"
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
    cp -r "$2" "$1/once" && cp -r proto "$1/once/proto" &&
        timeout 300 mvn -B -q -f "$1/once/pom.xml" -Dmaven.repo.local="$1/repository" compile >"$1/log" 2>&1
}

# client LANGUAGE PROGRAM FILE...
client() {
    local language=$1 program=$2 from="tests/clients/$1"
    shift 2
    install "clients/$language" "$program" "$(cd "$from" && cat "$@")" "${language}_client" "$from"
}
client python python3 requirements.txt
client typescript npm package.json package-lock.json
client go go go.mod go.sum
client java mvn pom.xml

# The newest patch of each of the three versions that Kubernetes maintains, and what belongs to them.
kubernetes=(v1.37.2 v1.36.3 v1.35.4)
etcd=v3.7.0
helm=v4.3.1
jaeger=v1.76.0
# The module's version of Prometheus 3.16.
prometheus=v0.316.0
# Kinds that clusters have from elsewhere: module, and the files of their definitions in it.
definitions=(
    "sigs.k8s.io/gateway-api@v1.6.3 config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml"
    "github.com/cert-manager/cert-manager@v1.21.2 deploy/crds/cert-manager.io_certificates.yaml"
    "github.com/kedacore/keda/v2@v2.21.0 config/crd/bases/keda.sh_scaledobjects.yaml"
    "github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"
    "github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"
)

# Where the files of a module are: Go's cache, checked against its checksum database. Says why where they cannot be had.
module() {
    local said
    said=$(go mod download -json "$1") || sed -n 's/^\t"Error": //p' <<<"$said" >&2
    sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' <<<"$said"
}

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

# Builds a program with the go.mod and go.sum of its own repository, for not all that it needs is to be had otherwise:
# NAME MODULE@VERSION PACKAGE [FLAG...].
build_with_its_sums() {
    local name=$1 package=$3 work folder
    work=$(mktemp -d) && folder=$(module "$2") || return 1
    mkdir -p "$(dirname "$peers/$name")"
    cp -r "$folder/." "$work" && chmod -R u+w "$work" &&
        (cd "$work" && GOWORK=off nice -n 10 go build -p 2 -trimpath -ldflags "-s -w" "${@:4}" -o "$peers/$name" "$package")
    local built=$?
    rm -rf "$work"
    return $built
}

all=no
[ "${1:-}" != all ] || all=yes
mkdir -p "$peers/kubernetes" "$peers/jaeger" "$peers/prometheus"
once kubernetes/helm "$helm" build kubernetes/helm "helm.sh/helm/v4@$helm" helm.sh/helm/v4/cmd/helm
once kubernetes/etcd "$etcd" build kubernetes/etcd "go.etcd.io/etcd/server/v3@$etcd" go.etcd.io/etcd/server/v3
once kubernetes/definitions "$(printf '%s\n' "${definitions[@]}" | sha256sum | cut -c1-16)" crds
for version in "${kubernetes[@]}"; do
    once "kubernetes/kube-apiserver-${version%.*}" "$version" api_server "$version"
done
once jaeger/jaeger "$jaeger" build_with_its_sums jaeger/jaeger "github.com/jaegertracing/jaeger@$jaeger" ./cmd/jaeger
# Of what finds targets, with DNS alone, which prometheus.yml names.
once prometheus/promtool "$prometheus" build_with_its_sums prometheus/promtool "github.com/prometheus/prometheus@$prometheus" \
    ./cmd/promtool -tags remove_all_sd,enable_dns_sd
