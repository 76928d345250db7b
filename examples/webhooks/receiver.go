// A receiver for Berth's webhooks in Go, without dependencies:  SIGNING_SECRET=whsec_… go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

const oldest = 5 * time.Minute

// Two signatures while a rolled secret overlaps with the previous one: either may match.
var form = regexp.MustCompile(`^t=([0-9]{1,12}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$`)

// verify takes the raw bytes of the body, not parsed JSON.
func verify(header string, body []byte, secret string) bool {
	match := form.FindStringSubmatch(header)
	if match == nil {
		return false
	}
	sent, _ := strconv.ParseInt(match[1], 10, 64)
	if age := time.Since(time.Unix(sent, 0)); age > oldest || age < -oldest {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(match[1] + "."))
	mac.Write(body)
	wanted := mac.Sum(nil)
	first, _ := hex.DecodeString(match[2])
	second, _ := hex.DecodeString(match[3])
	return hmac.Equal(wanted, first) || hmac.Equal(wanted, second)
}

func receive(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1<<20))
	if err != nil || !verify(request.Header.Get("X-Service-Signature"), body, os.Getenv("SIGNING_SECRET")) {
		response.WriteHeader(http.StatusUnauthorized)
		return
	}
	// Respond first, process later: attempts time out after 5 seconds. Use the event's id to detect duplicates.
	response.WriteHeader(http.StatusNoContent)
	var event struct {
		ID   string
		Type string
		Data struct{ ID string }
	}
	if json.Unmarshal(body, &event) == nil {
		fmt.Println(event.Type, event.ID, event.Data.ID)
	}
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "4000"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	panic(http.Serve(listener, http.HandlerFunc(receive)))
}
