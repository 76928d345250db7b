{{/* Subresources that exist in RBAC only are what the console asks for before it reads or acts by itself. */}}
{{- define "berth.viewRules" -}}
- apiGroups: [berth.dev]
  resources: [modeldeployments, apikeys, webhookendpoints, storagecredentials, workspaces]
  verbs: [get, list, watch]
- apiGroups: [berth.dev]
  resources: [modeldeployments/requests, modeldeployments/usage, webhookendpoints/deliveries]
  verbs: [get]
{{- end }}

{{/* Fields by which a pod reaches beyond its model; the admission policy asks for it. Who may edit may have any pod anyway. */}}
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
