{{- define "berth.consoleHost" -}}
{{- .Values.console.route.host | default (printf "console.%s" .Values.ingress.domain) }}
{{- end }}

{{/* Members have no right on Secrets: the console writes keys of buckets and the signing secret for those it may. */}}
{{- define "berth.consoleRules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [berth-signing-secret]
  verbs: [get, patch]
# An annotation tells the operator of a rolled secret.
- apiGroups: [berth.dev]
  resources: [workspaces]
  resourceNames: [workspace]
  verbs: [patch]
{{- end }}
