{{- define "berth.fullname" -}}
{{- if contains "berth" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-berth" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "berth.labels" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "berth.selector" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "berth.prefixed" -}}
{{- if .root.Values.imageRegistry }}{{ printf "%s/%s" (trimSuffix "/" .root.Values.imageRegistry) (regexReplaceAll "^docker\\.io/" .image "") }}{{ else }}{{ .image }}{{ end }}
{{- end }}

{{/* Without the registry of all images, which the operator adds by itself. */}}
{{- define "berth.ownImage" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion }}
{{- if not .Values.image.repository }}
{{- $example := printf "registry.example.com/berth:%s" $tag }}
{{- fail (printf "image.repository is required, since Berth publishes no images. Build and push one from a checkout, then set it, such as image.repository=registry.example.com/berth:\n  docker build --file images/berth.Dockerfile --tag %s .\n  docker push %s" $example $example) }}
{{- end }}
{{- printf "%s:%s" .Values.image.repository $tag }}
{{- end }}

{{- define "berth.image" -}}
{{- include "berth.prefixed" (dict "root" . "image" (include "berth.ownImage" .)) }}
{{- end }}

{{- define "berth.masterKeySecret" -}}
{{- .Values.masterKeySecret | default (printf "%s-master-key" (include "berth.fullname" .)) }}
{{- end }}

{{- define "berth.redisSecret" -}}
{{- if .Values.redis.bundled.enabled }}{{ .Values.redis.bundled.existingSecret | default (printf "%s-redis" (include "berth.fullname" .)) }}{{ else }}{{ required "redis.external.secretName is required without the bundled Redis" .Values.redis.external.secretName }}{{ end }}
{{- end }}

{{/* Contains the reason why the rollout of sidecars stopped. */}}
{{- define "berth.sidecarRollout" -}}
{{ include "berth.fullname" . }}-sidecar-rollout
{{- end }}

{{/* Of the bundled Redis: its certificate. */}}
{{- define "berth.redisTLSSecret" -}}
{{- (.Values.redis.bundled.tls | default dict).existingSecret | default (printf "%s-redis-tls" (include "berth.fullname" .)) }}
{{- end }}

{{/* Whether there is a bundled Redis with TLS; values of releases before TLS lack the setting. */}}
{{- define "berth.redisTLS" -}}
{{- if and .Values.redis.bundled.enabled (.Values.redis.bundled.tls | default dict).enabled }}true{{ end }}
{{- end }}

{{/* Whether the bundled Redis listens without TLS. */}}
{{- define "berth.redisPlaintext" -}}
{{- $tls := .Values.redis.bundled.tls | default dict }}
{{- if or (not $tls.enabled) $tls.plaintext }}true{{ end }}
{{- end }}

{{/* The CA of Redis, if it is not one of the system's: a source of a projected volume. */}}
{{- define "berth.redisCASource" -}}
{{- $external := (.Values.redis.external | default dict).tls | default dict }}
{{- if eq (include "berth.redisTLS" .) "true" }}
- secret:
    name: {{ include "berth.redisTLSSecret" . }}
    items: [{ key: ca.crt, path: redis-ca.crt }]
    {{- if .Values.redis.bundled.tls.existingSecret }}
    # Missing if a public CA signed the certificate: the system's CA certificates are used then.
    optional: true
    {{- end }}
{{- else if and (not .Values.redis.bundled.enabled) $external.caSecret }}
- secret:
    name: {{ $external.caSecret }}
    items: [{ key: {{ $external.caKey | default "ca.crt" }}, path: redis-ca.crt }]
{{- end }}
{{- end }}

{{/* Secrets of the installation in its namespace, which engines cannot use. */}}
{{- define "berth.ownSecrets" -}}
{{- $tls := ternary (include "berth.redisTLSSecret" .) "" (eq (include "berth.redisTLS" .) "true") }}
{{- $names := list (include "berth.masterKeySecret" .) (include "berth.redisSecret" .) $tls .Values.storage.secretName .Values.mail.smtpSecretName .Values.console.route.tlsSecretName }}
{{- join "," (compact $names) }}
{{- end }}

{{- define "berth.redisURL" -}}
{{- if .Values.redis.bundled.enabled }}{{ ternary "rediss" "redis" (eq (include "berth.redisTLS" .) "true") }}://{{ include "berth.fullname" . }}-redis.{{ .Release.Namespace }}.svc:{{ ternary "6380" "6379" (eq (include "berth.redisTLS" .) "true") }}{{ else }}{{ required "redis.external.url is required without the bundled Redis" .Values.redis.external.url }}{{ end }}
{{- end }}

{{- define "berth.podSecurity" -}}
runAsNonRoot: true
{{- if ne .Values.securityContext.platform "openshift" }}
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "berth.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "berth.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Pod placement, by default spread across nodes. */}}
{{- define "berth.placement" -}}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "berth.selector" (dict "root" .root "component" .component) | nindent 8 }}
{{- end }}

{{/* The installation's Gateway as a parentRef of HTTPRoutes. */}}
{{- define "berth.gatewayRefs" -}}
{{- $gateway := .Values.ingress.gateway -}}
- name: {{ $gateway.name }}
  namespace: {{ $gateway.namespace | default .Release.Namespace }}
  {{- with $gateway.sectionName }}
  sectionName: {{ . }}
  {{- end }}
{{- end }}

{{/* The hub that engines download from is asked, unless another one is set; none where only containers know its URL. */}}
{{- define "berth.modelHub" -}}
{{- $hub := .Values.operator.modelHub -}}
{{- if eq $hub "https://huggingface.co" -}}
{{- range .Values.downloads.env -}}
{{- if eq .name "HF_ENDPOINT" -}}{{- $hub = .value | default "" -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $hub -}}
{{- end -}}
