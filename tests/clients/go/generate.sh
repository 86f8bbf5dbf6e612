# Makes the stubs in gen; proto is a copy of this repository's folder of that name.
# Needs buf, and the plugins that `go install tool` makes of go.mod.
# region generate
buf generate proto --template proto/buf.gen.go.yaml --output gen
# endregion
