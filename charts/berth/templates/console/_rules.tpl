{{/* The base of documentation_url: a documentation site, by default the console's page about errors. */}}
{{- define "berth.documentationURL" -}}
{{- if .Values.documentationURL -}}
{{- .Values.documentationURL | trimSuffix "/" -}}
{{- else if and .Values.console.enabled .Values.console.publicURL -}}
{{- printf "%s/docs" (.Values.console.publicURL | trimSuffix "/") -}}
{{- else if and .Values.console.enabled .Values.console.route.enabled -}}
{{- $port := "" -}}
{{- with .Values.ingress.port }}{{ $port = printf ":%v" . }}{{ end -}}
{{- printf "%s://%s%s/docs" (ternary "http" "https" .Values.console.plainHTTP) (include "berth.consoleHost" .) $port -}}
{{- end -}}
{{- end }}

{{- define "berth.consoleHost" -}}
{{- .Values.console.route.host | default (printf "console.%s" .Values.ingress.domain) }}
{{- end }}

{{/* Members have no permissions on Secrets: the console writes keys of buckets and the signing secret for them. */}}
{{- define "berth.consoleRules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [berth-signing-secret]
  verbs: [get, patch]
# An annotation notifies the operator of a rolled secret.
- apiGroups: [berth.dev]
  resources: [workspaces]
  resourceNames: [workspace]
  verbs: [patch]
{{- end }}
