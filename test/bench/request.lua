-- wrk: one request, and a line of JSON with what was measured (times in microseconds).
wrk.method = "POST"
wrk.body = os.getenv("BODY")
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("API_KEY")
wrk.headers["x-portkey-provider"] = "openai"
wrk.headers["x-portkey-custom-host"] = os.getenv("ENGINE_URL") .. "/v1"
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('JSON {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errors":%d}\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
