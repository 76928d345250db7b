// Command deviceplugin offers devices that do not exist to a kubelet, over the interface that the
// vendors' plugins use. Devices named in a file, one a line, are reported unhealthy.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const interval = 300 * time.Millisecond

type plugin struct {
	api.UnimplementedDevicePluginServer
	count         int
	variable      string
	unhealthyFile string
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices at once and then whenever the health of one changes.
func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	sent := ""
	for {
		devices := p.list()
		if state := fmt.Sprint(devices); state != sent {
			if err := stream.Send(&api.ListAndWatchResponse{Devices: devices}); err != nil {
				return err
			}
			log.Print("sent ", state)
			sent = state
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(interval):
		}
	}
}

func (p *plugin) list() []*api.Device {
	content, _ := os.ReadFile(p.unhealthyFile)
	unhealthy := map[string]bool{}
	for _, name := range strings.Fields(string(content)) {
		unhealthy[name] = true
	}
	devices := make([]*api.Device, p.count)
	for i := range devices {
		name := fmt.Sprintf("GPU-%d", i)
		devices[i] = &api.Device{ID: name, Health: api.Healthy}
		if unhealthy[name] {
			devices[i].Health = api.Unhealthy
		}
	}
	return devices
}

// Allocate tells the container which devices it has, as NVIDIA's plugin does.
func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		ids := strings.Join(container.DevicesIds, ",")
		log.Print("allocated ", ids)
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{p.variable: ids},
		})
	}
	return response, nil
}

func (p *plugin) PreStartContainer(context.Context, *api.PreStartContainerRequest) (*api.PreStartContainerResponse, error) {
	return &api.PreStartContainerResponse{}, nil
}

func (p *plugin) GetPreferredAllocation(context.Context, *api.PreferredAllocationRequest) (*api.PreferredAllocationResponse, error) {
	return &api.PreferredAllocationResponse{}, nil
}

// serve offers the devices until the kubelet, which empties the folder when it starts, removes the socket.
func (p *plugin) serve(folder, resource string) error {
	endpoint := strings.NewReplacer("/", "-", ".", "-").Replace(resource) + ".sock"
	socket := filepath.Join(folder, endpoint)
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	if err := register(filepath.Join(folder, "kubelet.sock"), endpoint, resource); err != nil {
		return err
	}
	log.Printf("registered %d %s", p.count, resource)
	for {
		if _, err := os.Stat(socket); err != nil {
			return err
		}
		time.Sleep(interval)
	}
}

func register(kubeletSocket, endpoint, resource string) error {
	connection, err := grpc.NewClient("unix:"+kubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: resource,
	})
	return err
}

func main() {
	folder := flag.String("folder", "/var/lib/kubelet/device-plugins", "the kubelet's folder of device plugins")
	resource := flag.String("resource", "nvidia.com/gpu", "name of the resource")
	count := flag.Int("count", 2, "number of devices")
	variable := flag.String("variable", "NVIDIA_VISIBLE_DEVICES", "environment variable that names a container's devices")
	unhealthyFile := flag.String("unhealthy-file", "", "file that names the unhealthy devices, one a line: GPU-0, GPU-1, …")
	flag.Parse()
	p := &plugin{count: *count, variable: *variable, unhealthyFile: *unhealthyFile}
	for {
		log.Print(p.serve(*folder, *resource))
		time.Sleep(interval)
	}
}
