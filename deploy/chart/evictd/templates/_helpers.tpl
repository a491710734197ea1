{{- define "evictd.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "evictd.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "evictd.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "evictd.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "evictd.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "evictd.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "evictd.selectorLabels" -}}
app.kubernetes.io/name: {{ include "evictd.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "evictd.labels" -}}
{{ include "evictd.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: node-agent
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "evictd.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Of the cleanup and the test: all nodes may have the taints of pressure. */ -}}
{{- define "evictd.jobTolerations" -}}
- {key: evictd.io/memory-pressure, operator: Exists}
- {key: evictd.io/disk-pressure, operator: Exists}
- {key: evictd.io/pid-pressure, operator: Exists}
- {key: node.kubernetes.io/memory-pressure, operator: Exists}
- {key: node.kubernetes.io/disk-pressure, operator: Exists}
- {key: node.kubernetes.io/pid-pressure, operator: Exists}
- {key: node-role.kubernetes.io/control-plane, operator: Exists}
{{- end }}

{{- /* The port on which evictd listens inside its pod, always on loopback. */ -}}
{{- define "evictd.port" -}}
{{- regexFind "[0-9]+$" (.Values.evictd.listenAddress | default "127.0.0.1:10277") }}
{{- end }}

{{- define "evictd.tlsSecret" -}}
{{- .Values.metrics.tls.secretName | default (printf "%s-metrics-tls" (include "evictd.fullname" .)) }}
{{- end }}

{{- define "evictd.authorization" -}}
{{- if .Values.metrics.reader.authorization }}
{{- toYaml .Values.metrics.reader.authorization }}
{{- else -}}
type: Bearer
credentials:
  name: {{ include "evictd.fullname" . }}-metrics-reader
  key: token
{{- end }}
{{- end }}

{{- define "evictd.endpoint" -}}
port: metrics
path: /metrics
scheme: https
interval: {{ .Values.metrics.interval }}
authorization:
  {{- include "evictd.authorization" . | nindent 2 }}
tlsConfig:
  ca:
    secret:
      name: {{ include "evictd.tlsSecret" . }}
      key: ca.crt
  serverName: {{ include "evictd.fullname" . }}-metrics.{{ .Release.Namespace }}.svc
relabelings:
  - sourceLabels: [__meta_kubernetes_pod_node_name]
    targetLabel: node
  {{- with .Values.metrics.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "evictd.metricsIngress" -}}
ingress:
{{- if .Values.metrics.enabled }}
  - ports:
      - protocol: TCP
        port: {{ .Values.metrics.port }}
    {{- with .Values.networkPolicy.from }}
    from:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- else }} []
{{- end }}
{{- end }}

{{/* Of the schema Helm would say only that 'allOf' failed. */}}
{{- define "evictd.checkRights" -}}
{{- $by := default "Auto" .Values.evictd.cluster.podTermination }}
{{- if and (not .Values.deletePods) (ne $by "Status") }}
{{- fail (printf "deletePods: false needs evictd.cluster.podTermination: Status; it is %s" $by) }}
{{- end }}
{{- if and (not .Values.evictionAPI) (not (has $by (list "Delete" "Status"))) }}
{{- fail (printf "evictionAPI: false needs evictd.cluster.podTermination: Delete or Status; it is %s" $by) }}
{{- end }}
{{- end }}
