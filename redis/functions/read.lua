-- Reads requests. KEYS: the record of the first. ARGV: namespace, at most 20 ids. Answers with what is shown of each, or nil.
register_reader('read', { least = 2, most = 1 + READ_AT_ONCE, bytes = 4096 }, function(_, args)
  local requests = {}
  for i = 2, #args do
    requests[i - 1] = show_request(args[1], args[i]) or false
  end
  return requests
end)
