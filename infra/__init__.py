"""Deployment of the pipeline: servers, images and manifests."""
