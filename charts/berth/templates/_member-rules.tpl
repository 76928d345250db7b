{{/* Subresources that exist only in RBAC are checked by the console before it reads data or acts with its own token. */}}
{{- define "berth.viewRules" -}}
- apiGroups: [berth.dev]
  resources: [modeldeployments, apikeys, webhookendpoints, storagecredentials, workspaces]
  verbs: [get, list, watch]
- apiGroups: [berth.dev]
  resources: [modeldeployments/requests, modeldeployments/usage, webhookendpoints/deliveries]
  verbs: [get]
{{- end }}

{{/* What the built-in view role has already: pods of deployments, with events and logs, and former specs of deployments. */}}
{{- define "berth.podReadRules" -}}
- apiGroups: [""]
  resources: [pods, events]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [list]
{{- end }}

{{/* What the built-in edit role has already: to restart a replica. An eviction deletes any pod, within its disruption budget if it has one. */}}
{{- define "berth.podRestartRules" -}}
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]
{{- end }}

{{/* Privileged fields, checked by the admission policy. Users with the edit role can create any pod anyway. */}}
{{- define "berth.podFieldRules" -}}
- apiGroups: [berth.dev]
  resources: [modeldeployments/podfields]
  verbs: [use]
{{- end }}

{{- define "berth.editRules" -}}
- apiGroups: [berth.dev]
  resources: [modeldeployments, apikeys, webhookendpoints, storagecredentials]
  verbs: [create, update, patch, delete, deletecollection]
- apiGroups: [berth.dev]
  resources: [modeldeployments/scale]
  verbs: [get, update, patch]
- apiGroups: [berth.dev]
  resources: [modeldeployments/playground, webhookendpoints/test, webhookendpoints/deliveries, storagecredentials/keys]
  verbs: [create]
- apiGroups: [berth.dev]
  resources: [modeldeployments/requests]
  verbs: [delete]
- apiGroups: [berth.dev]
  resources: [workspaces/signingsecret]
  verbs: [update]
{{- end }}
