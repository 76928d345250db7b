-- Returns a claimed request to the queue unfinished, without counting an attempt: a worker that drains or shuts down.
-- KEYS: the record. ARGV: namespace, id, the worker's token. Answers 1, or 0 when it was not this worker's (any more).
register('release', { least = 3, bytes = 1024 }, function(_, args)
  local request = load_request(args[1], args[2])
  if not request or request.status ~= 'running' or request.claim ~= args[3] then
    return 0
  end
  give_back(request, request.attempts - 1)
  return 1
end)
