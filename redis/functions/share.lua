-- Writes one front's share of the demand for a deployment, and answers how many requests all other fronts hold for it.
-- KEYS: the deployment's fronts. ARGV: the front, its share as a JSON object without `at`.
-- Of all fronts: what takes more is a tenant's own making, and fronts call this for all tenants.
local MAX_SHARES_BYTES = 64 * 1024

register('share', { least = 2, bytes = 4096 }, function(keys, args)
  local held = 0
  for front, word in pairs(speak(keys[1], MAX_SHARES_BYTES, args[1], args[2])) do
    if front ~= args[1] then
      held = held + math.min(MAX_NUMBER, tonumber(string.match(word, '"held":(%d+)') or 0))
    end
  end
  return math.min(MAX_NUMBER, held)
end)
