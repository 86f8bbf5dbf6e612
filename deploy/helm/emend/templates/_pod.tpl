{{/* The options of a service as its container's environment. */}}
{{- define "emend.environment" -}}
{{- $root := .root -}}
{{- $own := dict
    "EMEND_LISTEN" (printf "0.0.0.0:%d" (int .service.port))
    "EMEND_METRICS_LISTEN" (printf "0.0.0.0:%d" (int $root.Values.metrics.port))
    "EMEND_LOG" $root.Values.telemetry.log
    "EMEND_LOG_FORMAT" $root.Values.telemetry.logFormat
-}}
{{- with $root.Values.telemetry.otlpEndpoint -}}
{{- $_ := set $own "OTEL_EXPORTER_OTLP_ENDPOINT" . -}}
{{- $_ := set $own "OTEL_TRACES_SAMPLER_ARG" ($root.Values.telemetry.sampleRatio | toString) -}}
{{- end -}}
{{- $scheme := ternary "https" "http" $root.Values.tls.enabled -}}
{{- range $callee := (include "emend.callees" . | splitList "," | compact) -}}
{{- $variable := printf "EMEND_%s_URL" ($callee | upper | replace "-" "_") -}}
{{- $name := include "emend.name" (dict "root" $root "name" $callee) -}}
{{- $_ := set $own $variable (printf "%s://%s:%d" $scheme $name (int (index $root.Values.services $callee).port)) -}}
{{- end -}}
{{- if $root.Values.tls.enabled -}}
{{- $_ := set $own "EMEND_TLS_CERT" "/etc/emend/tls/tls.crt" -}}
{{- $_ := set $own "EMEND_TLS_KEY" "/etc/emend/tls/tls.key" -}}
{{- if and $root.Values.tls.clientCertificates (ne .name "gateway") -}}
{{- $_ := set $own "EMEND_TLS_CLIENT_CA" "/etc/emend/tls/ca.crt" -}}
{{- end -}}
{{- if include "emend.callees" . -}}
{{- $_ := set $own "EMEND_CA" "/etc/emend/tls/ca.crt" -}}
{{- if $root.Values.tls.clientCertificates -}}
{{- $_ := set $own "EMEND_CLIENT_CERT" "/etc/emend/tls/tls.crt" -}}
{{- $_ := set $own "EMEND_CLIENT_KEY" "/etc/emend/tls/tls.key" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $root.Values.keys.enabled (ne .name "gateway") -}}
{{- $_ := set $own "EMEND_KEYS_FILE" "/etc/emend/keys/keys.toml" -}}
{{- if eq .name "orchestrator" -}}
{{- $_ := set $own "EMEND_SERVICE_API_KEY_FILE" "/etc/emend/keys/service" -}}
{{- end -}}
{{- end -}}
{{- $asksWho := or $root.Values.keys.enabled $root.Values.tls.clientCertificates -}}
{{- if or (not $root.Values.tls.enabled) (not $asksWho) (eq .name "gateway") -}}
{{- /* Protected by something else, or, the gateway, by the services behind it, to which it hands the callers' keys. */ -}}
{{- $_ := set $own "EMEND_INSECURE" "true" -}}
{{- end -}}
{{- if include "emend.feedback" . -}}
{{- $_ := set $own "EMEND_FEEDBACK_DIR" "/var/lib/emend/feedback" -}}
{{- end -}}
{{- if eq .name "retriever" -}}
{{- $_ := set $own "EMEND_STORE" $root.Values.retriever.store -}}
{{- if eq $root.Values.retriever.store "qdrant" -}}
{{- $_ := set $own "EMEND_QDRANT_URL" $root.Values.retriever.qdrant.url -}}
{{- else -}}
{{- $_ := set $own "EMEND_DATA_DIR" "/var/lib/emend/collections" -}}
{{- end -}}
{{- end -}}
{{- if include "emend.embeds" . -}}
{{- $_ := set $own "EMEND_EMBEDDER" $root.Values.models.embedder -}}
{{- end -}}
{{- if include "emend.models" . -}}
{{- $_ := set $own "EMEND_MODEL_DIR" "/models" -}}
{{- end -}}
{{- if and (include "emend.asksModel" .) $root.Values.llm.url -}}
{{- $_ := set $own "EMEND_LLM_URL" $root.Values.llm.url -}}
{{- $_ := set $own "EMEND_LLM_MODEL" $root.Values.llm.model -}}
{{- end -}}
{{- if eq .name "web-search" -}}
{{- $_ := set $own "EMEND_WEB_PROVIDER" $root.Values.webSearch.provider -}}
{{- with $root.Values.webSearch.searxngUrl -}}
{{- $_ := set $own "EMEND_SEARXNG_URL" . -}}
{{- end -}}
{{- if $root.Values.webSearch.pages -}}
{{- $_ := set $own "EMEND_WEB_FOLDER" "/srv/pages" -}}
{{- end -}}
{{- end -}}
{{- $env := mergeOverwrite $own (deepCopy ($root.Values.env | default dict)) (deepCopy (.service.env | default dict)) -}}
{{- range $variable, $value := $env }}
- {name: {{ $variable }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- if include "emend.embeds" . }}
# As many threads as the pod's request of CPU, rounded up: more would only wait for each other.
- name: EMEND_EMBEDDER_THREADS
  valueFrom:
    resourceFieldRef: {containerName: {{ .name }}, resource: requests.cpu, divisor: "1"}
{{- end }}
{{- if and (include "emend.asksModel" .) $root.Values.llm.apiKey }}
{{ include "emend.secretVariable" (dict "variable" "EMEND_LLM_API_KEY" "from" $root.Values.llm.apiKey) }}
{{- end }}
{{- if and (eq .name "retriever") (eq $root.Values.retriever.store "qdrant") $root.Values.retriever.qdrant.apiKey }}
{{ include "emend.secretVariable" (dict "variable" "EMEND_QDRANT_API_KEY" "from" $root.Values.retriever.qdrant.apiKey) }}
{{- end }}
{{- range $variable, $from := mergeOverwrite (deepCopy ($root.Values.secretEnv | default dict)) (deepCopy (.service.secretEnv | default dict)) }}
{{ include "emend.secretVariable" (dict "variable" $variable "from" $from) }}
{{- end }}
{{- end -}}

{{/* What a service's container may do. */}}
{{- define "emend.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* How a service is probed: of dict "of" and "path". Probes by gRPC speak no TLS; then it is the port of metrics. */}}
{{- define "emend.probe" -}}
{{- if eq .of.name "gateway" -}}
httpGet: {port: http, path: {{ .path }}, scheme: {{ ternary "HTTPS" "HTTP" .of.root.Values.tls.enabled }}}
{{- else if .of.root.Values.tls.enabled -}}
httpGet: {port: metrics, path: {{ .path }}}
{{- else -}}
grpc: {port: {{ .of.service.port }}, service: {{ include "emend.grpcService" .of }}}
{{- end -}}
{{- end -}}

{{- define "emend.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The template of a service's pods. */}}
{{- define "emend.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "emend.labels" . | nindent 4 }}
  {{- with .service.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "emend.name" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  # Longer than --drain-timeout, so that running calls end.
  terminationGracePeriodSeconds: 40
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .service.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .service.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .service.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .service.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "emend.selector" $ | nindent 10 }}
    {{- end }}
  {{- if eq (include "emend.models" .) "fetch" }}
  initContainers:
    - name: models
      image: {{ include "emend.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: [emend, models, fetch]
      env:
        # Not the image's: what is found there would not be fetched into the volume.
        - {name: EMEND_MODEL_DIR, value: /cache/models}
        - {name: EMEND_CACHE_DIR, value: /cache}
        - {name: EMEND_EMBEDDER, value: {{ $root.Values.models.embedder | quote }}}
        {{- with (.service.env | default dict).EMEND_LLM_LOCAL }}
        - {name: EMEND_LLM_LOCAL, value: {{ . | quote }}}
        {{- end }}
      resources:
        requests: {cpu: 50m, memory: 128Mi}
        limits: {memory: 512Mi}
      securityContext:
        {{- include "emend.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: models, mountPath: /cache/models}
  {{- end }}
  containers:
    - name: {{ .name }}
      image: {{ include "emend.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: [emend-{{ .name }}]
      env:
        {{- include "emend.environment" . | trim | nindent 8 }}
      ports:
        - {name: {{ include "emend.portName" . }}, containerPort: {{ .service.port }}}
        - {name: metrics, containerPort: {{ $root.Values.metrics.port }}}
      # Loading weights comes before listening.
      startupProbe:
        {{- include "emend.probe" (dict "of" . "path" "/readyz") | nindent 8 }}
        periodSeconds: 2
        failureThreshold: 60
      readinessProbe:
        {{- include "emend.probe" (dict "of" . "path" "/readyz") | nindent 8 }}
        periodSeconds: 5
      livenessProbe:
        {{- include "emend.probe" (dict "of" . "path" "/livez") | nindent 8 }}
        periodSeconds: 10
        failureThreshold: 6
      resources:
        {{- toYaml .service.resources | nindent 8 }}
      securityContext:
        {{- include "emend.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        {{- if include "emend.isStateful" . }}
        - {name: collections, mountPath: /var/lib/emend}
        {{- end }}
        {{- if include "emend.feedback" . }}
        - {name: feedback, mountPath: /var/lib/emend}
        {{- end }}
        {{- if include "emend.models" . }}
        - {name: models, mountPath: /models, readOnly: true}
        {{- end }}
        {{- if $root.Values.tls.enabled }}
        - {name: tls, mountPath: /etc/emend/tls, readOnly: true}
        {{- end }}
        {{- if and $root.Values.keys.enabled (ne .name "gateway") }}
        - {name: keys, mountPath: /etc/emend/keys, readOnly: true}
        {{- end }}
        {{- if and (eq .name "web-search") $root.Values.webSearch.pages }}
        - {name: pages, mountPath: /srv/pages, readOnly: true}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if eq (include "emend.models" .) "volume" }}
    - name: models
      {{- toYaml $root.Values.models.volume | nindent 6 }}
    {{- else if eq (include "emend.models" .) "fetch" }}
    - name: models
      emptyDir: {sizeLimit: {{ $root.Values.models.fetch.sizeLimit }}}
    {{- end }}
    {{- if $root.Values.tls.enabled }}
    - name: tls
      secret: {secretName: {{ $root.Values.tls.secret }}, defaultMode: 0440}
    {{- end }}
    {{- if and $root.Values.keys.enabled (ne .name "gateway") }}
    - name: keys
      secret:
        secretName: {{ $root.Values.keys.secret }}
        defaultMode: 0440
        items:
          - {key: keys.toml, path: keys.toml}
          {{- if eq .name "orchestrator" }}
          - {key: service, path: service}
          {{- end }}
    {{- end }}
    {{- if include "emend.feedback" . }}
    - name: feedback
      {{- toYaml $root.Values.orchestrator.feedback | nindent 6 }}
    {{- end }}
    {{- if and (eq .name "web-search") $root.Values.webSearch.pages }}
    - name: pages
      {{- toYaml $root.Values.webSearch.pages | nindent 6 }}
    {{- end }}
{{- end -}}
