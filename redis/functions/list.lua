-- A deployment's requests, newest first, each as its id and its record; the cost depends on `limit` alone.
-- KEYS: the index of one status, or of all. ARGV: namespace, limit.
register('list', function(keys, args)
  local found = {}
  for _, id in ipairs(redis.call('ZRANGE', keys[1], 0, tonumber(args[2]) - 1, 'REV')) do
    found[#found + 1] = { id, redis.call('HGETALL', work_key(args[1], 'request:', id)) }
  end
  return found
end)
