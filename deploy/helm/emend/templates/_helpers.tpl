{{/* Name of a service's objects: of dict "root" and "name". */}}
{{- define "emend.name" -}}
{{- printf "%s-%s" (.root.Release.Name | trunc 40 | trimSuffix "-") .name -}}
{{- end -}}

{{/* What a service's pods are selected by. Never changes: a Deployment's selector cannot. */}}
{{- define "emend.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "emend.labels" -}}
{{ include "emend.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
{{- end -}}

{{/* The name of a service in gRPC's health. */}}
{{- define "emend.grpcService" -}}
{{- if eq .name "web-search" -}}emend.v1.WebSearchService
{{- else -}}{{ printf "emend.v1.%sService" (.name | title) }}
{{- end -}}
{{- end -}}

{{/* Whether a service computes embeddings: "true", or nothing. */}}
{{- define "emend.embeds" -}}
{{- if has .name (list "retriever" "grader" "generator") }}true{{ end -}}
{{- end -}}

{{/* Where a service has weights from besides the image: "volume", "fetch", or nothing. */}}
{{- define "emend.models" -}}
{{- if or (include "emend.embeds" .) (include "emend.asksModel" .) -}}
{{- if .root.Values.models.volume }}volume{{ else if .root.Values.models.fetch.enabled }}fetch{{ end -}}
{{- end -}}
{{- end -}}

{{/* Whether a service may ask a language model. */}}
{{- define "emend.asksModel" -}}
{{- if has .name (list "grader" "generator" "rewriter") }}true{{ end -}}
{{- end -}}

{{/* Whether the store is in the retriever's pod, which is then one. */}}
{{- define "emend.isStateful" -}}
{{- if and (eq .name "retriever") (eq .root.Values.retriever.store "edge") }}true{{ end -}}
{{- end -}}

{{/* Whether a service keeps the feedback of callers. */}}
{{- define "emend.feedback" -}}
{{- if and (eq .name "orchestrator") .root.Values.orchestrator.feedback }}true{{ end -}}
{{- end -}}

{{/* What a service's port is called. */}}
{{- define "emend.portName" -}}
{{- if eq .name "gateway" }}http{{ else }}grpc{{ end -}}
{{- end -}}

{{/* Services that a service calls, with commas between. */}}
{{- define "emend.callees" -}}
{{- if eq .name "orchestrator" }}retriever,grader,generator,rewriter,web-search
{{- else if eq .name "gateway" }}orchestrator,retriever
{{- end -}}
{{- end -}}

{{/* Whether a service has pods: the gateway only where it is wanted. */}}
{{- define "emend.isOn" -}}
{{- if or .service.replicas .service.autoscaling.enabled }}true{{ end -}}
{{- end -}}

{{/* Whether somebody else says how many pods there are. */}}
{{- define "emend.isScaled" -}}
{{- if and .service.autoscaling.enabled (not (include "emend.isStateful" .)) }}true{{ end -}}
{{- end -}}

{{/* Whether there is more than one pod. */}}
{{- define "emend.isReplicated" -}}
{{- if include "emend.isStateful" . -}}
{{- else if include "emend.isScaled" . -}}
{{- if gt (int .service.autoscaling.minReplicas) 1 }}true{{ end -}}
{{- else if gt (int .service.replicas) 1 }}true{{ end -}}
{{- end -}}

{{/* One variable of a container's environment from a Secret: of dict "variable" and "from". */}}
{{- define "emend.secretVariable" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef: {name: {{ .from.name | quote }}, key: {{ .from.key | quote }}}
{{- end -}}
